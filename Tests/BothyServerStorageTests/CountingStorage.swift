import BothyStore
import BothySyncService
import Synchronization

/// A storage that counts what searches read, and other reads too if it is told to.
final class CountingStorage: ServerStorage {
  struct Reads: Equatable {
    /// The records that were read by their ids or as changes.
    var records = 0
    var entries = 0
    /// The most bytes of records that were read by their ids at a time.
    var largest = 0
    /// The queries that the storage itself decided, record by record.
    var scans = 0
  }

  let base: any ServerStorage
  private let countsReads: Bool
  private let counted = Mutex(Reads())

  init(_ base: any ServerStorage, countsReads: Bool = false) {
    self.base = base
    self.countsReads = countsReads
  }

  var identity: String { base.identity }

  /// Returns what was read since the last call.
  func taken() -> Reads {
    counted.withLock { reads in
      defer { reads = Reads() }
      return reads
    }
  }

  fileprivate func count(_ change: (inout Reads) -> Void) { counted.withLock { change(&$0) } }

  func write<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerTransaction) throws -> Result
  ) async throws -> Result {
    try await base.write(space: space, body)
  }

  func read<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> Result {
    guard countsReads else { return try await base.read(space: space, body) }
    return try await base.read(space: space) { try body(CountingSnapshot(storage: self, base: $0)) }
  }

  func search<Result: Sendable>(
    space: String, within limit: Duration, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> Result {
    try await base.search(space: space, within: limit) { try body(CountingSnapshot(storage: self, base: $0)) }
  }
}

private struct CountingSnapshot: ServerSnapshot {
  let storage: CountingStorage
  let base: any ServerSnapshot

  var epoch: String { base.epoch }
  var head: Int64 { base.head }
  var floor: Int64 { base.floor }
  var fieldIndexes: FieldIndexState { base.fieldIndexes }
  func has(_ position: Int64) throws -> Bool { try base.has(position) }

  func records(_ ids: [RecordID], bytes: Int) throws -> [StoredRecord] {
    let found = try base.records(ids, bytes: bytes)
    let bytes = found.reduce(0) { $0 + $1.record.fields.bytes.count }
    storage.count { reads in
      reads.records += ids.count
      reads.largest = max(reads.largest, bytes)
    }
    return found
  }

  func changes(after position: Int64, in scope: SyncScope, limit: Int, bytes: Int) throws -> [StoredRecord] {
    let found = try base.changes(after: position, in: scope, limit: limit, bytes: bytes)
    storage.count { $0.records += found.count }
    return found
  }

  func changes(
    after position: Int64, in scope: SyncScope, limit: Int, bytes: Int, seenBy filter: VisibilityFilter
  ) throws -> [StoredRecord] {
    let found = try base.changes(after: position, in: scope, limit: limit, bytes: bytes, seenBy: filter)
    storage.count { $0.records += found.count }
    return found
  }

  func position(seenBy filter: VisibilityFilter) throws -> Int64 { try base.position(seenBy: filter) }

  func entries(in range: FieldEntryRange, after: FieldEntry?, descending: Bool, limit: Int) throws
    -> [FieldEntry]
  {
    let found = try base.entries(in: range, after: after, descending: descending, limit: limit)
    storage.count { $0.entries += found.count }
    return found
  }

  func entryCounts(in ranges: [FieldEntryRange], limit: Int) throws -> [Int] {
    let found = try base.entryCounts(in: ranges, limit: limit)
    storage.count { $0.entries += found.reduce(0, +) }
    return found
  }

  func query(
    _ query: AnyQuery, after: AnyRecord?, schema: StoreSchema?, seenBy filter: VisibilityFilter?,
    _ body: (StoredRecord) throws -> Bool
  ) throws {
    storage.count { $0.scans += 1 }
    try base.query(query, after: after, schema: schema, seenBy: filter, body)
  }

  func count(_ query: AnyQuery, schema: StoreSchema?) throws -> Int {
    storage.count { $0.scans += 1 }
    return try base.count(query, schema: schema)
  }

  func departures(after: Int64, upTo last: Int64, from scope: SyncScope, limit: Int) throws
    -> [RecordRemoval]
  { try base.departures(after: after, upTo: last, from: scope, limit: limit) }
  func formerlyVisible(after: Int64, upTo last: Int64, limit: Int) throws -> [RecordRemoval] {
    try base.formerlyVisible(after: after, upTo: last, limit: limit)
  }
  func history(_ query: HistoryQuery) throws -> [HistoryEntry] { try base.history(query) }
  func history(after position: Int64, limit: Int) throws -> [HistoryEntry] {
    try base.history(after: position, limit: limit)
  }
  func outcomes(_ keys: [OperationKey]) throws -> [OperationKey: Outcome.Verdict] { try base.outcomes(keys) }
  func forEachRecord(in scope: SyncScope, _ body: (StoredRecord) throws -> Void) throws {
    try base.forEachRecord(in: scope, body)
  }
  func position(of scope: SyncScope) throws -> Int64 { try base.position(of: scope) }
  func holders(of values: [UniqueFieldValue], marked mark: String) throws -> UniqueHolders {
    try base.holders(of: values, marked: mark)
  }
  func lists(of users: [String]) throws -> Set<String> { try base.lists(of: users) }
  func listCounts(of users: [String], ownedBy owner: String?, limit: Int) throws -> [Int] {
    try base.listCounts(of: users, ownedBy: owner, limit: limit)
  }
  func listOwners(of user: String, limit: Int) throws -> [(list: String, owner: String?)] {
    try base.listOwners(of: user, limit: limit)
  }
  func members(of list: String) throws -> Set<String> { try base.members(of: list) }
  func records(sharedWith list: String, limit: Int) throws -> [RecordID] {
    try base.records(sharedWith: list, limit: limit)
  }
  func notices(for users: [String], after position: Int64, limit: Int?) throws -> [VisibilityNotice] {
    try base.notices(for: users, after: position, limit: limit)
  }
}
