public import BothyStore

/// The seam to what a server keeps: records with their positions, and the outcomes of operations, by space.
///
/// Positions are handed out inside the writing transaction while the space is locked, so position order is
/// commit order for every reader and on any number of processes. A test suite, `LedgerConformance`, states what
/// every ledger must do.
public protocol Ledger: Sendable {
  /// Tells this database from every other: made once, with the database, and kept by its copies.
  var identity: String { get }

  /// Runs `body` in one transaction that holds the space's lock; everything it wrote is durable when this
  /// returns, or nothing is if it throws. A ledger may run `body` again after undoing what it did before: when others
  /// were in the way, or a connection was lost.
  func write<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any LedgerTransaction) throws -> Result
  ) async throws -> Result

  /// Runs `body` on one consistent state of the space.
  func read<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any LedgerSnapshot) throws -> Result
  ) async throws -> Result

  /// The same for what may take long: beside short reads, which it never keeps waiting. It ends when `limit` is over,
  /// with `AuthorityError` `.tooExpensive`, or when the task is cancelled, with `CancellationError`.
  func search<Result: Sendable>(
    space: String, within limit: Duration, _ body: @escaping @Sendable (any LedgerSnapshot) throws -> Result
  ) async throws -> Result

  /// Throws at once when the ledger can't be read: `LedgerUnavailable` where that may pass.
  func check() async throws

  /// The same ledger for those who run the server; nil for one that is not looked after by them.
  var upkeep: (any LedgerUpkeep)? { get }
}

extension Ledger {
  /// Reads the head of a space without a name, which costs one transaction.
  public func check() async throws { _ = try await read(space: "") { $0.head } }

  /// Reads as any other reading does: for ledgers that have nothing to end.
  public func search<Result: Sendable>(
    space: String, within limit: Duration, _ body: @escaping @Sendable (any LedgerSnapshot) throws -> Result
  ) async throws -> Result {
    try await read(space: space, body)
  }

  /// The ledger itself where it is a `LedgerUpkeep`.
  public var upkeep: (any LedgerUpkeep)? { self as? any LedgerUpkeep }
}

extension LedgerSnapshot {
  /// The history has been at every position up to its head.
  public func has(_ position: Int64) throws -> Bool { position <= head }
}

/// One consistent state of one space.
public protocol LedgerSnapshot {
  /// Changes when the ledger's history is not a continuation of what devices saw: after a restore.
  var epoch: String { get }
  /// The position of the last change.
  var head: Int64 { get }
  /// Tombstones at or below this position may be gone; a cursor below it must start over.
  var floor: Int64 { get }
  /// Whether the history has been at this position. It has not where a device was told of changes that a backup, which was
  /// restored since, does not have.
  func has(_ position: Int64) throws -> Bool

  /// The records with these ids, tombstones included; absent ones are left out.
  func records(_ ids: [RecordID]) throws -> [RecordID: LedgerRecord]
  /// The changes after `position` in `scope`, in position order, at most `limit`, up to the one with which their fields
  /// have `bytes`.
  func changes(after position: Int64, in scope: PullScope, limit: Int, bytes: Int) throws -> [LedgerRecord]
  /// What left the containers of `scope` after `after` and not after `last`, in position order, at most `limit`.
  /// Nothing leaves the whole space.
  func departures(after: Int64, upTo last: Int64, from scope: PullScope, limit: Int) throws
    -> [LedgerDeparture]
  /// What is remembered of changes, newest first.
  func history(_ query: HistoryQuery) throws -> [HistoryEntry]
  /// The remembered outcomes among these.
  func outcomes(_ keys: [OperationKey]) throws -> [OperationKey: Outcome.Verdict]
  /// Visits the live records that a query selects, in its order, until `body` returns false.
  func query(_ query: AnyQuery, schema: StoreSchema?, _ body: (LedgerRecord) throws -> Bool) throws
  /// How many live records a query selects, its limit and offset left aside.
  func count(_ query: AnyQuery, schema: StoreSchema?) throws -> Int
  /// Visits the live records of a scope, in any order, with bounded memory.
  func forEachRecord(in scope: PullScope, _ body: (LedgerRecord) throws -> Void) throws
  /// The position of the last change in a scope, 0 if there is none.
  func position(of scope: PullScope) throws -> Int64

  /// The records that are noted to have these values of unique fields, and up to which position those of the fields with
  /// this mark are noted. Some may have another value by now, or be gone.
  func holders(of values: [UniqueFieldValue], marked mark: String) throws -> UniqueHolders

  /// The ids of the lists that a principal is a member of.
  func lists(of principal: String) throws -> Set<String>
  /// The members of a list, by name, as `setMembers` gave them; none for a list that is not there.
  func members(of list: String) throws -> Set<String>
  /// The records that are shared with a list.
  func records(sharedWith list: String) throws -> [RecordID]
  /// The notices for a principal after `position`, in position order, at most `limit`; nil gives all.
  func notices(for principal: String, after position: Int64, limit: Int?) throws -> [SightNotice]
}

extension LedgerSnapshot {
  /// The same, however many bytes they have.
  public func changes(after position: Int64, in scope: PullScope, limit: Int) throws -> [LedgerRecord] {
    try changes(after: position, in: scope, limit: limit, bytes: .max)
  }

  /// The live records that a query selects, in its order.
  public func query(_ query: AnyQuery, schema: StoreSchema?) throws -> [LedgerRecord] {
    var found: [LedgerRecord] = []
    try self.query(query, schema: schema) {
      found.append($0)
      return true
    }
    return found
  }

  /// The remembered outcomes among these of a device, by the operations' names.
  public func outcomes(device: String, operations: [String]) throws -> [String: Outcome.Verdict] {
    let found = try outcomes(operations.map { OperationKey(device: device, operation: $0) })
    return Dictionary(found.map { ($0.operation, $1) }, uniquingKeysWith: { $1 })
  }
}

/// The same, with the right to write.
public protocol LedgerTransaction: LedgerSnapshot {
  /// Stores records at the positions they carry, in place of what was there by the same id, and moves `head`.
  /// Of those that leave a container, the departure is kept.
  func put(_ records: [LedgerRecord]) throws
  /// Remembers changes, and at least the last `limit` of the space; older ones are dropped now and then.
  func put(_ entries: [HistoryEntry], keeping limit: Int) throws
  /// Remembers outcomes, at the server's time.
  func remember(_ outcomes: [Outcome], device: String, at time: Int64) throws
  /// Forgets the outcomes of a device's operations whose ids sort before `operation` and that were remembered before
  /// `time`; some of very many only at a later call.
  func forget(device: String, before operation: String, rememberedBefore time: Int64) throws
  /// Notes which records have which values of unique fields, and forgets others; what is noted twice is noted once.
  func note(_ holders: [UniqueHolder], forgetting gone: [UniqueHolder]) throws
  /// Says that the values of the fields with this mark are noted up to `position`, if they were noted up to `start`. Nothing
  /// is noted of fields that were never marked, which is up to 0.
  func setNoted(upTo position: Int64, from start: Int64, marked mark: String) throws
  /// Replaces the members of a list; none forgets it.
  func setMembers(_ members: Set<String>, of list: String) throws
  /// Sets the lists that a record is shared with.
  func setLists(_ lists: Set<String>, of record: RecordID) throws
  /// Stores notices at the positions they carry, each in place of an earlier one for its principal and record, and
  /// moves `head`.
  func put(_ notices: [SightNotice]) throws
}

/// A record with the position of its last change.
public struct LedgerRecord: Sendable, Hashable {
  /// Where the change is in the order of the space's changes; no two of a space have the same.
  public var position: Int64
  /// The record after the change; a tombstone where that deleted it.
  public var record: ServerRecord
  /// The container that the record was in before this change, where it is another; told to the ledger, never by it.
  public var leaves: String?

  /// - Parameter leaves: the container it was in before, where a change moves it.
  public init(position: Int64, record: ServerRecord, leaves: String? = nil) {
    self.position = position
    self.record = record
    self.leaves = leaves
  }
}

/// A record that left a container: devices that follow it there are told to let go of it.
public struct LedgerDeparture: Sendable, Hashable {
  /// The position of the change that moved it.
  public var position: Int64
  /// The record that left, wherever it is now.
  public var id: RecordID
  /// The container that it left.
  public var container: String

  /// What ledgers make of a stored row.
  public init(position: Int64, id: RecordID, container: String) {
    self.position = position
    self.id = id
    self.container = container
  }
}
