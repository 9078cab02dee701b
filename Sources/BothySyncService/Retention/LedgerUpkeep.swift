/// What those who run a server do with its ledger, beside what the server's rule does: looking at spaces, starting over
/// after a restore, forgetting what nobody needs.
///
/// Each method is one transaction, and may run while servers work on the ledger.
public protocol LedgerUpkeep: Ledger {
  /// The names of the spaces that hold anything, in order.
  func spaces() async throws -> [String]
  /// What the space holds, counted: reads its indices.
  func statistics(of space: String) async throws -> SpaceStatistics
  /// Who owns records or is in lists, by name: reads the space.
  func principals(of space: String) async throws -> [PrincipalStatistics]
  /// Removes the space with all that belongs to it.
  func remove(space: String) async throws
  /// Starts a new epoch: every device compares and rebases at its next sync. For use after a restore.
  ///
  /// Positions jump ahead by 2^32, so that no version given out after the backup was made is given out again
  /// for other content.
  func startEpoch(space: String) async throws
  /// Forgets the tombstones, departures and notices up to `position`; cursors below it start over.
  func compact(space: String, upTo position: Int64) async throws

  /// Remembers that the space's head is what it is now at `time`, and forgets marks before `oldest` but the last of them,
  /// and devices not heard of since.
  func mark(space: String, at time: Int64, keepingSince oldest: Int64) async throws
  /// The head of the space at the last mark at or before `time`; 0 if there is none.
  func position(of space: String, markedBefore time: Int64) async throws -> Int64
  /// Remembers, at the server's time, up to which position a device has what it follows; `scope` tells apart what it follows.
  func acknowledge(space: String, device: String, scope: String, position: Int64, at time: Int64) async throws
  /// The lowest position that devices heard of since `time` have acknowledged; nil if there are none.
  func acknowledged(space: String, since time: Int64) async throws -> Int64?
}

/// What a space holds, in numbers.
public struct SpaceStatistics: Sendable, Hashable {
  /// The name of the space.
  public var space: String
  /// The mark of its present history; another one after `startEpoch`.
  public var epoch: String
  /// The position of the last change.
  public var head: Int64
  /// The position up to which tombstones may be gone.
  public var floor: Int64
  /// The live records, lists among them.
  public var records = 0
  /// The deletions that are remembered.
  public var tombstones = 0
  /// The containers that hold a live record.
  public var containers = 0
  /// The bytes of the live records' fields.
  public var bytes: Int64 = 0
  /// The remembered outcomes of operations.
  public var outcomes = 0
  /// The devices that said how far they are.
  public var devices = 0

  /// A space with nothing counted yet: ledgers fill in the rest.
  public init(space: String, epoch: String, head: Int64, floor: Int64) {
    self.space = space
    self.epoch = epoch
    self.head = head
    self.floor = floor
  }
}

/// What a space has of one principal.
public struct PrincipalStatistics: Sendable, Hashable {
  /// Its name, as records and lists have it.
  public var principal: String
  /// The live records that it owns.
  public var records: Int
  /// The lists that it is a member of.
  public var lists: Int

  /// What ledgers make when they have counted.
  public init(principal: String, records: Int, lists: Int) {
    self.principal = principal
    self.records = records
    self.lists = lists
  }
}
