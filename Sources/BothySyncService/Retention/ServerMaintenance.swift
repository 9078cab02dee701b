/// The operations of a server's storage for its operators and its upkeep.
///
/// They count its content, start a new epoch after a restore, delete old data, and list the spaces whose upkeep is due.
/// Each method is one transaction unless it states otherwise, and may run while servers use the storage. Times are in
/// milliseconds since 1970.
///
/// A space is due at a time, or not at all. A change makes it due at the end of its rest, in the transaction of the
/// change and without a statement of its own. The end of an upkeep sets the rest, and the time at which the next thing
/// in the space gets too old. So a space without changes costs nothing.
public protocol ServerMaintenance: ServerStorage {
  /// Returns the names of the spaces with content, in order.
  ///
  /// Reads the list of spaces. A space whose only request was refused may be among them.
  func spaces() async throws -> [String]
  /// Counts the content of the space. Reads its indexes.
  ///
  /// The cost grows with the records. A missing space has an empty epoch, and 0 everywhere.
  func statistics(of space: String) async throws -> SpaceStatistics
  /// Returns the users who own records or are in lists, by name. Reads the space.
  ///
  /// Groups are among them, as members of lists. Users who own nothing and are in no list are missing.
  func users(of space: String) async throws -> [UserStatistics]
  /// Deletes the space with its whole content.
  ///
  /// The cost grows with the content, in one transaction. Blobs and secrets are in vaults of their own, and stay. To
  /// its devices the history is then another one, as after a restore. Does nothing for a missing space.
  func remove(space: String) async throws
  /// Starts a new epoch, after which every device compares and rebases at its next sync. Meant for use after a restore.
  ///
  /// Positions skip 2^32 numbers, so that versions from after the backup aren't used again for other content. Costs a
  /// few rows, and later each device a pull from the start. Does nothing for a missing space.
  func startEpoch(space: String) async throws
  /// Forgets the tombstones, departures and notices up to `position`. Cursors below it start over.
  ///
  /// Pending changes of such devices stay. The floor never falls, so a lower position than it has no effect.
  func compact(space: String, upTo position: Int64) async throws

  /// Returns the head of the space at the last mark at or before `time`, or 0 without a mark.
  func position(of space: String, markedBefore time: Int64) async throws -> Int64
  /// Remembers, at the server's time, the positions that a device has reached. Those of another epoch than the space's
  /// are ignored. Returns false if no position was remembered.
  ///
  /// The space becomes due if the floor may wait for this device, or if the space wasn't in the list.
  func acknowledge(space: String, device: String, _ progress: [DeviceProgress], at time: Int64) async throws
    -> Bool
  /// Returns the lowest position that devices with a request since `time` have acknowledged, or `nil` without such
  /// devices.
  func acknowledged(space: String, since time: Int64) async throws -> Int64?

  /// Takes at most `limit` of the spaces that are due at `time`, from among those that have been due the longest. For
  /// `lease` milliseconds they are due for no other caller.
  ///
  /// Costs a read, and a short transaction for each space that is due. Several processes may call it at a time.
  func takeDue(at time: Int64, limit: Int, lease: Int64) async throws -> [DueSpace]
  /// Returns the number of spaces that are due at `time`, counted up to `limit`.
  func dueCount(at time: Int64, limit: Int) async throws -> Int
  /// Ends a lease without an upkeep. The space is due again at `time`, whether it changes or not. Does nothing if the
  /// lease is over and another caller has taken the space.
  func putOff(_ due: DueSpace, until time: Int64) async throws
  /// Makes a space due as a change does. Does nothing for a missing space.
  func makeDue(space: String) async throws
  /// Returns the last collection of blobs that a turn noted, or `nil` without one.
  func lastCollection(of space: String) async throws -> BlobCollection?
  /// Marks the head, forgets data by its age, and sets the next time at which the space is due, as `turn` plans it.
  /// Returns `nil` and changes nothing if the space is missing, or if the turn's lease is over and another caller has
  /// taken the space.
  ///
  /// Reads the marks and devices of the space. It reads the outcomes too if some may be too old, or if none were known.
  func maintain(space: String, _ turn: MaintenanceTurn) async throws -> RetentionReport?
}

/// The position that a device has reached in one scope.
///
/// `SyncService.acknowledge` makes it of a request's cursors.
public struct DeviceProgress: Sendable, Hashable {
  /// The scope, in the server's short form. To storages it is a name.
  public var scope: String
  /// The position of the device's cursor.
  public var position: Int64
  /// The epoch of the device's cursor.
  public var epoch: String

  /// Makes the progress of one scope, for requests to a storage.
  public init(scope: String, position: Int64, epoch: String) {
    self.scope = scope
    self.position = position
    self.epoch = epoch
  }
}

extension [DeviceProgress] {
  /// Returns true if a scope with a known position is beyond it now.
  package func isAhead(of known: [String: Int64]) -> Bool {
    contains { progress in known[progress.scope].map { $0 < progress.position } ?? false }
  }
}

/// The content of a space, in numbers.
///
/// They are of one moment. A missing space has an empty epoch.
public struct SpaceStatistics: Sendable, Hashable {
  /// The name of the space.
  public var space: String
  /// The mark of its present history. `startEpoch` changes it.
  ///
  /// Empty for a missing space.
  public var epoch: String
  /// The position of the last change.
  ///
  /// It rises with each change, and skips 2^32 numbers with each `startEpoch`.
  public var head: Int64
  /// The position up to which tombstones may be deleted.
  ///
  /// Devices with a cursor below it pull everything again.
  public var floor: Int64
  /// The number of live records, including lists.
  public var records = 0
  /// The number of remembered deletions.
  ///
  /// An upkeep deletes them by `RetentionPolicy`, and `compact` at once.
  public var tombstones = 0
  /// The number of containers with a live record.
  public var containers = 0
  /// The bytes of the live records' fields.
  ///
  /// Their JSON is measured, without ids, indexes and blobs. The file is larger.
  public var bytes: Int64 = 0
  /// The number of remembered outcomes of operations.
  ///
  /// An upkeep deletes them by their age, and a request of their device earlier.
  public var outcomes = 0
  /// The number of devices that reported their position.
  ///
  /// Those that were silent for `RetentionPolicy.tombstoneAge` are forgotten.
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
///
/// Records that are shared with the user aren't counted.
public struct UserStatistics: Sendable, Hashable {
  /// The user's name in records and lists.
  ///
  /// A group has the prefix `group:`.
  public var user: String
  /// The number of live records that it owns.
  public var records: Int
  /// The number of lists that it is a member of.
  public var lists: Int

  /// Makes statistics, for storages.
  public init(user: String, records: Int, lists: Int) {
    self.user = user
    self.records = records
    self.lists = lists
  }
}
