public import BothyStore

/// A server's storage: records with their positions, and the outcomes of operations, by space.
///
/// Positions are assigned inside the writing transaction while the space is locked. So position order is commit order
/// for every reader and for any number of processes. Calls may be made from any task, for any number of spaces at a
/// time. The test suite `ServerStorageConformance` has the requirements of a storage.
public protocol ServerStorage: Sendable {
  /// The identity of this database, created with it and kept by its copies.
  ///
  /// Devices know that of their file's server, and changes to another one are refused. It costs no read.
  var identity: String { get }

  /// Runs `body` in one transaction that holds the space's lock. All of its writes are durable when this returns, and
  /// none if it throws.
  ///
  /// The storage may undo the work and run `body` again, after a collision with other writes or a lost connection. So
  /// `body` changes nothing but its transaction. Other writes of the space wait until it ends.
  ///
  /// - Throws: the error of `body`, which undoes everything. `StorageUnavailable` if the storage can't be used for now.
  func write<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerTransaction) throws -> Result
  ) async throws -> Result

  /// Runs `body` on one consistent state of the space, with every write that any process has answered before.
  ///
  /// The storage may run `body` again on another such state. A space without writes is empty, with the head 0. Meant
  /// for short reads: long ones use `search(space:within:_:)`.
  ///
  /// - Throws: the error of `body`, or `StorageUnavailable`.
  func read<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> Result

  /// Like `read(space:_:)`, but for long reads, which never delay short ones.
  ///
  /// The limit counts from the call, the wait for a connection included.
  ///
  /// - Throws: `SyncServiceError` `.tooExpensive` after `limit`, and `CancellationError` if the task is cancelled.
  func search<Result: Sendable>(
    space: String, within limit: Duration, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> Result

  /// Returns at once if the storage can be read, for the health check of a server. Throws `StorageUnavailable` if the
  /// failure may pass.
  func check() async throws

  /// The storage's operations for operators, or `nil` if it has none.
  var upkeep: (any ServerMaintenance)? { get }
}

extension ServerStorage {
  /// Reads the head of a space without a name, in one transaction.
  ///
  /// It waits for a connection like any other read.
  public func check() async throws { _ = try await read(space: "") { $0.head } }

  /// Reads like `read(space:_:)`, for storages that can't end a read.
  ///
  /// The limit has no effect, and a cancelled task waits for the end.
  public func search<Result: Sendable>(
    space: String, within limit: Duration, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> Result {
    try await read(space: space, body)
  }

  /// The storage itself if it is a `ServerMaintenance`.
  ///
  /// A storage without upkeep keeps tombstones and outcomes forever.
  public var upkeep: (any ServerMaintenance)? { self as? any ServerMaintenance }
}

extension ServerSnapshot {
  /// Returns true for every position up to the head.
  ///
  /// Storages whose backups may be restored look closer.
  public func has(_ position: Int64) throws -> Bool { position <= head }
}

/// One consistent state of one space.
///
/// It is valid inside its closure alone, and used by one thread at a time. Methods cost statements, and properties
/// none.
public protocol ServerSnapshot {
  /// The mark of the history. It changes when the history doesn't continue the one that devices saw, after a restore.
  var epoch: String { get }
  /// The position of the last change.
  var head: Int64 { get }
  /// The position up to which tombstones may be deleted. A cursor below it must start over.
  var floor: Int64 { get }
  /// Returns true if the history has been at this position. Returns false for positions of changes that a restored
  /// backup doesn't have.
  func has(_ position: Int64) throws -> Bool

  /// Returns the records with these ids, tombstones included, each once and in the order of the ids. Missing ones are
  /// left out. It ends with the record at which their fields reach `bytes`.
  func records(_ ids: [RecordID], bytes: Int) throws -> [StoredRecord]
  /// Returns at most `limit` changes after `position` in `scope`, in position order. It ends with the change at which
  /// their fields reach `bytes`.
  func changes(after position: Int64, in scope: SyncScope, limit: Int, bytes: Int) throws -> [StoredRecord]
  /// Like `changes(after:in:limit:bytes:)`, but leaves out changes that the filter hides, as far as indexes have them.
  /// Reads about as many rows as it returns.
  func changes(
    after position: Int64, in scope: SyncScope, limit: Int, bytes: Int, seenBy filter: VisibilityFilter
  ) throws -> [StoredRecord]
  /// Returns at most `limit` departures from the containers of `scope`, after `after` up to `last`, in position order.
  /// Records don't leave the whole space.
  func departures(after: Int64, upTo last: Int64, from scope: SyncScope, limit: Int) throws
    -> [RecordRemoval]
  /// Returns at most `limit` notes of records whose readers changed, after `after` up to `last`, in position order.
  /// They have a `former` part, and were stored by `put(_:)`.
  func formerSights(after: Int64, upTo last: Int64, limit: Int) throws -> [RecordRemoval]
  /// Returns the remembered changes, newest first.
  func history(_ query: HistoryQuery) throws -> [HistoryEntry]
  /// Returns at most `limit` remembered changes of the whole space after `position`, in position order.
  func history(after position: Int64, limit: Int) throws -> [HistoryEntry]
  /// Returns the remembered outcomes among these.
  func outcomes(_ keys: [OperationKey]) throws -> [OperationKey: Outcome.Verdict]
  /// Visits the live records that a query selects, in its order, until `body` returns false.
  ///
  /// Reads all records of the type, unless the order is that of ids. With a filter that restricts the type, it reads
  /// only records that the filter shows.
  ///
  /// - Parameter after: a record with the values of the sort keys, in whose place the visit begins. The query's limit
  ///   and offset count from there.
  func query(
    _ query: AnyQuery, after: AnyRecord?, schema: StoreSchema?, seenBy filter: VisibilityFilter?,
    _ body: (StoredRecord) throws -> Bool
  ) throws
  /// Returns the number of live records that a query selects, without its limit and offset.
  func count(_ query: AnyQuery, schema: StoreSchema?) throws -> Int
  /// Visits the live records of a scope, in any order, with bounded memory.
  func forEachRecord(in scope: SyncScope, _ body: (StoredRecord) throws -> Void) throws
  /// Returns the position of the last change in a scope, or 0 without one. It may fall when tombstones
  /// and departures are deleted.
  func position(of scope: SyncScope) throws -> Int64
  /// Returns the position of the last change that the filter shows, or of the last notice for its user, or 0 without
  /// one. It never falls, also when tombstones are deleted. Costs a few look-ups.
  func position(seenBy filter: VisibilityFilter) throws -> Int64

  /// Returns the records that are noted to have these values of unique fields. It also has the position up to which the
  /// fields with this mark are noted. Some records may have another value by now, or be deleted.
  func holders(of values: [UniqueFieldValue], marked mark: String) throws -> UniqueHolders

  /// The indexes of the space's fields, as they were at the start of the transaction or set in it.
  var fieldIndexes: FieldIndexState { get }
  /// Returns at most `limit` entries of an index in the order of their keys, then ids. Reads no other entries.
  ///
  /// - Parameters:
  ///   - after: the entry after which to begin, if not at the start of the range. Not with `descending`.
  ///   - descending: true if both orders are from the last.
  func entries(in range: FieldEntryRange, after: FieldEntry?, descending: Bool, limit: Int) throws
    -> [FieldEntry]
  /// Returns the number of entries of each range, counted up to `limit`.
  func entryCounts(in ranges: [FieldEntryRange], limit: Int) throws -> [Int]

  /// Returns the ids of the lists that a user is a member of.
  func lists(of user: String) throws -> Set<String>
  /// Returns the members of a list, by name, as `setMembers` stored them. Returns none for a missing list.
  func members(of list: String) throws -> Set<String>
  /// Returns at most `limit` of the records that are shared with a list, in any order.
  func records(sharedWith list: String, limit: Int) throws -> [RecordID]
  /// Returns at most `limit` notices for a user after `position`, in position order; `nil` returns all.
  func notices(for user: String, after position: Int64, limit: Int?) throws -> [VisibilityNotice]
}

extension ServerSnapshot {
  /// Returns the records with these ids, tombstones included. Missing ones are left out.
  ///
  /// Memory grows with the records, so the ids should be few.
  public func records(_ ids: [RecordID]) throws -> [RecordID: StoredRecord] {
    let found = try records(ids, bytes: .max)
    return Dictionary(found.map { ($0.record.id, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// Like `changes(after:in:limit:bytes:)`, but without a limit of bytes.
  ///
  /// Memory grows with the records, so the limit should be small.
  public func changes(after position: Int64, in scope: SyncScope, limit: Int) throws -> [StoredRecord] {
    try changes(after: position, in: scope, limit: limit, bytes: .max)
  }

  /// Visits the live records that a query selects from the first one.
  ///
  /// Costs as the requirement does, without a filter: all records of the type, unless the order is that of ids. `body`
  /// returns false to end.
  public func query(
    _ query: AnyQuery, schema: StoreSchema?, _ body: (StoredRecord) throws -> Bool
  ) throws {
    try self.query(query, after: nil, schema: schema, seenBy: nil, body)
  }

  /// Returns the live records that a query selects, in its order.
  ///
  /// All of them are in memory, so give the query a limit.
  public func query(
    _ query: AnyQuery, schema: StoreSchema?, seenBy filter: VisibilityFilter? = nil
  ) throws -> [StoredRecord] {
    var found: [StoredRecord] = []
    try self.query(query, after: nil, schema: schema, seenBy: filter) {
      found.append($0)
      return true
    }
    return found
  }

  /// Returns the remembered outcomes among these of a device, by the operations' names.
  ///
  /// Names without an outcome are left out.
  public func outcomes(device: String, operations: [String]) throws -> [String: Outcome.Verdict] {
    let found = try outcomes(operations.map { OperationKey(device: device, operation: $0) })
    return Dictionary(found.map { ($0.operation, $1) }, uniquingKeysWith: { $1 })
  }
}

/// A snapshot with writes.
///
/// All of them are stored or none, when the closure that has it ends.
public protocol ServerTransaction: ServerSnapshot {
  /// Stores records at their positions, in place of those with their ids, and moves `head`. Stores the departures of
  /// those that leave a container.
  ///
  /// - Parameter keepsIndexes: true if the transaction notes the entries of these records in the indexes of fields. The
  ///   position of the indexes then moves with `head` if it was there.
  func put(_ records: [StoredRecord], keepsIndexes: Bool) throws
  /// Stores notes of records whose readers changed, at the positions of the changes.
  func put(_ removals: [RecordRemoval]) throws
  /// Remembers changes, and at least the last `limit` of the space, with 0 none. Older ones are dropped occasionally.
  func put(_ entries: [HistoryEntry], keeping limit: Int) throws
  /// Remembers outcomes, at the server's time.
  func remember(_ outcomes: [Outcome], device: String, at time: Int64) throws
  /// Forgets the outcomes of a device's operations whose ids sort before `operation` and that were remembered before
  /// `time`. With a large number, a later call forgets the rest.
  func forget(device: String, before operation: String, rememberedBefore time: Int64) throws
  /// Notes the records that have values of unique fields, and forgets others. A repeated note has no effect.
  func note(_ holders: [UniqueHolder], forgetting gone: [UniqueHolder]) throws
  /// Notes that the values of the fields with this mark are noted up to `position`, if they were noted up to `start`.
  /// Fields without a mark are noted up to 0.
  func setNoted(upTo position: Int64, from start: Int64, marked mark: String) throws
  /// Notes entries of indexes, and forgets others. A repeated note has no effect.
  func note(_ new: [FieldEntry], forgetting gone: [FieldEntry]) throws
  /// Sets the indexes of the space's fields.
  func setFieldIndexes(_ state: FieldIndexState) throws
  /// Replaces the members of a list. An empty set forgets it.
  func setMembers(_ members: Set<String>, of list: String) throws
  /// Sets the lists that a record is shared with.
  func setLists(_ lists: Set<String>, of record: RecordID) throws
  /// Stores notices at their positions, each in place of an earlier one for its user and record, and moves `head`.
  func put(_ notices: [VisibilityNotice]) throws
  /// Notes that the caller acknowledges what an earlier transaction has committed. The commit of this one is then as
  /// durable as that of a change, and so is what it follows.
  func confirm()
}

extension ServerTransaction {
  /// Does nothing, for storages in which every visible change is durable.
  public func confirm() {}

  /// Stores records like `put(_:keepsIndexes:)`, without their entries in indexes.
  ///
  /// The indexes are then behind, and queries or the upkeep complete them.
  public func put(_ records: [StoredRecord]) throws { try put(records, keepsIndexes: false) }
}

/// A record with the position of its last change.
///
/// A storage keeps one for each record, and none of its former states.
public struct StoredRecord: Sendable, Hashable {
  /// The position of the change in the space, unique within it.
  public var position: Int64
  /// The record after the change; a tombstone if it was deleted.
  ///
  /// Its version is the position as text.
  public var record: ServerRecord
  /// The former container of the record, if this change moves it. Storages receive it and never return it.
  ///
  /// They note a departure from it, for devices that pull that container alone.
  public var leaves: String?

  /// Makes a stored record, for the server and its storages.
  ///
  /// - Parameter leaves: the former container, if a change moves the record.
  public init(position: Int64, record: ServerRecord, leaves: String? = nil) {
    self.position = position
    self.record = record
    self.leaves = leaves
  }
}

/// A record that left a container, or the sight of some users. Devices with a subscription to the container, or whose
/// user saw the record, receive a request to delete it.
public struct RecordRemoval: Sendable, Hashable {
  /// The position of the change that moved or hid it.
  public var position: Int64
  /// The record that left, in any container now.
  public var id: RecordID
  /// The container that it left.
  public var container: String
  /// The part of the record before the change that decided who saw it, as text; `nil` for a record that left a
  /// container.
  public var former: String?

  /// Makes a departure, for storages.
  public init(position: Int64, id: RecordID, container: String, former: String? = nil) {
    self.position = position
    self.id = id
    self.container = container
    self.former = former
  }

  /// The container in notes that are about no container. It isn't a path.
  static let noContainer = "/"
}
