/// The operations of a server's storage for its operators: statistics, a new epoch after a restore, and the deletion of
/// old data.
///
/// Each method is one transaction, and may run while servers use the storage.
public protocol LedgerUpkeep: Ledger {
  /// Returns the names of the spaces with content, in order.
  func spaces() async throws -> [String]
  /// Counts the content of the space. Reads its indexes.
  func statistics(of space: String) async throws -> SpaceStatistics
  /// Returns the users who own records or are in lists, by name. Reads the space.
  func principals(of space: String) async throws -> [PrincipalStatistics]
  /// Deletes the space with its whole content.
  func remove(space: String) async throws
  /// Starts a new epoch, after which every device compares and rebases at its next sync. Meant for use after a restore.
  ///
  /// Positions skip 2^32 numbers, so that versions from after the backup aren't used again for other content.
  func startEpoch(space: String) async throws
  /// Forgets the tombstones, departures and notices up to `position`. Cursors below it start over.
  func compact(space: String, upTo position: Int64) async throws

  /// Remembers the space's present head at `time`. Forgets older marks than `oldest`, except the last of them, and
  /// devices without a request since.
  func mark(space: String, at time: Int64, keepingSince oldest: Int64) async throws
  /// Returns the head of the space at the last mark at or before `time`, or 0 without a mark.
  func position(of space: String, markedBefore time: Int64) async throws -> Int64
  /// Remembers, at the server's time, the position that a device has reached in `scope`.
  func acknowledge(space: String, device: String, scope: String, position: Int64, at time: Int64) async throws
  /// Returns the lowest position that devices with a request since `time` have acknowledged, or `nil` without such
  /// devices.
  func acknowledged(space: String, since time: Int64) async throws -> Int64?
}

/// The content of a space, in numbers.
public struct SpaceStatistics: Sendable, Hashable {
  /// The name of the space.
  public var space: String
  /// The mark of its present history. `startEpoch` changes it.
  public var epoch: String
  /// The position of the last change.
  public var head: Int64
  /// The position up to which tombstones may be deleted.
  public var floor: Int64
  /// The number of live records, including lists.
  public var records = 0
  /// The number of remembered deletions.
  public var tombstones = 0
  /// The number of containers with a live record.
  public var containers = 0
  /// The bytes of the live records' fields.
  public var bytes: Int64 = 0
  /// The number of remembered outcomes of operations.
  public var outcomes = 0
  /// The number of devices that reported their position.
  public var devices = 0

  /// Makes statistics with all numbers 0, which storages fill in.
  public init(space: String, epoch: String, head: Int64, floor: Int64) {
    self.space = space
    self.epoch = epoch
    self.head = head
    self.floor = floor
  }
}

/// The content of a space that concerns one user.
public struct PrincipalStatistics: Sendable, Hashable {
  /// The user's name in records and lists.
  public var principal: String
  /// The number of live records that it owns.
  public var records: Int
  /// The number of lists that it is a member of.
  public var lists: Int

  /// Makes statistics, for storages.
  public init(principal: String, records: Int, lists: Int) {
    self.principal = principal
    self.records = records
    self.lists = lists
  }
}
