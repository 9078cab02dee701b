/// The operations of a server's storage for its operators and its upkeep.
///
/// They count its content, start a new epoch after a restore, delete old data, and list the spaces whose upkeep is due.
/// Each method is one transaction unless it states otherwise, and may run while servers use the storage. Times are in
/// milliseconds since 1970.
///
/// A space is due at a time, or not at all. A change makes it due at the end of its rest, in the transaction of the
/// change and without a statement of its own. The end of an upkeep sets the rest, and the time at which the next thing
/// in the space gets too old. So a space without changes costs nothing. A time more than 92 days ahead is that of a
/// clock that was wrong, and counts as due.
public protocol ServerMaintenance: ServerStorage {
  /// Returns the names of the spaces with content, in order.
  ///
  /// Reads the list of spaces. A space whose only request was refused may be among them.
  func spaces() async throws -> [String]
  /// Counts the content of the space, a million of each kind at most.
  ///
  /// The cost grows with the records up to that. A missing space has an empty epoch, and 0 everywhere.
  func statistics(of space: String) async throws -> SpaceStatistics
  /// Returns the users who own records or are in lists, by name. Reads a million records and members of lists at most.
  ///
  /// Groups are among them, as members of lists. Users who own nothing and are in no list are missing.
  func users(of space: String) async throws -> [UserStatistics]
  /// Deletes the space with its whole content.
  ///
  /// The cost grows with the content. A large space is deleted in several transactions: a call that fails may have
  /// deleted a part, and another completes it. Blobs and secrets are in vaults of their own, and stay. To its devices
  /// the history is then another one, as after a restore. Does nothing for a missing space.
  func remove(space: String) async throws
  /// Starts a new epoch, after which every device compares and rebases at its next sync. Meant for use after a restore.
  ///
  /// Positions skip 2^32 numbers, so that versions from after the backup aren't used again for other content. Costs a
  /// few rows, and later each device a pull from the start. Does nothing for a missing space.
  func startEpoch(space: String) async throws
  /// Forgets the tombstones, departures and notices up to `position`. Cursors below it start over.
  ///
  /// Pending changes of such devices stay. The floor never falls, so a lower position than it has no effect. If there
  /// is much to forget, it takes several transactions: a call that fails has done this up to a lower position.
  func compact(space: String, upTo position: Int64) async throws

  /// Returns the head of the space at the last mark at or before `time`, or 0 without a mark.
  func position(of space: String, markedBefore time: Int64) async throws -> Int64
  /// Remembers, at the server's time, the positions that a device has reached. Those of another epoch than the space's
  /// are ignored, and so are new ones beyond the limit of a user. Returns false if none is of the space's epoch.
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
  /// Marks the head, forgets data by its age, and sets the next time at which the space is due, as `turn` plans it. Of
  /// much data it forgets a part, and leaves the space due.
  ///
  /// Returns `nil` and changes nothing if the space is missing, or if the turn's lease is over and another caller has
  /// taken the space.
  ///
  /// Reads the marks and devices of the space. It reads the outcomes too if some may be too old, or if none were known.
  func maintain(space: String, _ turn: MaintenanceTurn) async throws -> RetentionReport?
}
