import BothyStore

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
  func formerlyVisible(after: Int64, upTo last: Int64, limit: Int) throws -> [RecordRemoval]
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

  /// Returns the ids of the lists that any of the users is a member of. Costs one round trip.
  func lists(of users: [String]) throws -> Set<String>
  /// Returns the number of lists that each of the users is a member of, in the order of the names, counted up to `limit`.
  /// Reads no more rows than it counts.
  ///
  /// - Parameter owner: counts the lists of this owner alone; `nil` counts those of all owners.
  func listCounts(of users: [String], ownedBy owner: String?, limit: Int) throws -> [Int]
  /// Returns at most `limit` of the lists that a user is a member of, by their ids, with the owners that `setMembers`
  /// stored.
  func listOwners(of user: String, limit: Int) throws -> [(list: String, owner: String?)]
  /// Returns the members of a list, by name, as `setMembers` stored them. Returns none for a missing list.
  func members(of list: String) throws -> Set<String>
  /// Returns at most `limit` of the records that are shared with a list, in any order.
  func records(sharedWith list: String, limit: Int) throws -> [RecordID]
  /// Returns at most `limit` notices for any of the users after `position`, in position order; `nil` returns all. Costs
  /// one round trip.
  func notices(for users: [String], after position: Int64, limit: Int?) throws -> [VisibilityNotice]
}

extension ServerSnapshot {
  /// Returns true for every position up to the head.
  ///
  /// Storages whose backups may be restored look closer.
  public func has(_ position: Int64) throws -> Bool { position <= head }
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
