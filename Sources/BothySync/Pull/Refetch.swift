import BothyStore

/// Records, types and containers to request from the server again, because the server's version isn't known here. A
/// mark is durable, and ends when the server has answered.
///
/// While a mark is open, no answer that may lack its records counts as complete.
enum Refetch {
  /// The SQL of the table. A row names a record, a type without an id, or, without a type, a container and those below
  /// it as the id. `mark` distinguishes a mark from a later one for the same.
  static let sql = """
    CREATE TABLE IF NOT EXISTS bothy_refetch (
      type TEXT NOT NULL, id TEXT NOT NULL, container TEXT, mark INTEGER NOT NULL, PRIMARY KEY (type, id)
      ) STRICT, WITHOUT ROWID
    """

  struct Mark: Sendable, Hashable {
    var type: String
    var id: String
    var number: Int64

    var record: RecordID { RecordID(type: type, id: id) }
  }

  private struct Row {
    var mark: Mark
    var container: String
    /// True if no container was noted.
    var isUnplaced: Bool
  }

  /// - Parameter container: the last known container of the record, or `nil` for its type's own.
  static func mark(_ id: RecordID, in container: String?, in transaction: WriteTransaction) throws {
    try note(id.type, id.id, container, transaction)
  }

  /// Returns the container that a record was marked in, or `nil` without a mark. One look-up.
  static func container(of id: RecordID, in transaction: ReadTransaction) throws -> String? {
    try transaction.first("SELECT coalesce(container, type) FROM bothy_refetch WHERE type = ? AND id = ?", id)
    {
      $0.text(at: 0)
    } ?? nil
  }

  static func mark(type: String, in transaction: WriteTransaction) throws {
    try note(type, "", nil, transaction)
  }

  /// Marks a container that belongs to a larger scope, which itself isn't pulled again.
  static func mark(container: String, in transaction: WriteTransaction) throws {
    let isPulled = try PullState.scopes(in: transaction)
      .contains(SyncScope(container: container, includesChildren: true))
    try note("", container, isPulled ? "" : nil, transaction)
  }

  private static func note(
    _ type: String, _ id: String, _ container: String?, _ transaction: WriteTransaction
  ) throws {
    try transaction.run(
      "INSERT OR REPLACE INTO bothy_refetch VALUES (?, ?, ?, random())", type, id, container)
    transaction.touchBookkeeping()
  }

  /// Ends marks whose answer has arrived. A mark that was made again meanwhile stays.
  static func end(_ marks: some Sequence<Mark>, in transaction: WriteTransaction) throws {
    for mark in marks {
      try transaction.run(
        "DELETE FROM bothy_refetch WHERE type = ? AND id = ? AND mark = ?", mark.record, mark.number)
    }
  }

  /// Ends the marks of a scope that was pulled as a whole, for its records and for itself. A marked container inside it is
  /// pulled in the same sync, and ends its own mark. Costs one look-up if nothing is marked. Returns true if the scope was
  /// pulled for its mark alone.
  static func end(in scope: SyncScope, in transaction: WriteTransaction) throws -> Bool {
    var wasOnlyMarked = false
    let ended = try rows(in: transaction).filter { row in
      guard row.mark.type.isEmpty else {
        return row.mark.id.isEmpty ? scope == .everything : scope.contains(row.container)
      }
      let marked = SyncScope(container: row.mark.id, includesChildren: true)
      // The type of such a mark is empty, and so is its container if the scope has a cursor of its own.
      if marked == scope && row.isUnplaced {
        // It may have got a subscription of its own since.
        wasOnlyMarked = try !(SubscriptionTable.stored(in: transaction)?.contains(scope) ?? false)
      }
      return marked == scope
    }
    try end(ended.map(\.mark), in: transaction)
    return wasOnlyMarked
  }

  /// Ends the marks of containers that belong to no other scope of the file, because nothing lacks their records then.
  /// Forgets what was pulled for such a mark alone.
  ///
  /// - Parameter subscribed: the scopes that the store pulls from now on.
  static func end(outside subscribed: [SyncScope], in transaction: WriteTransaction) throws {
    for row in try rows(where: "type = ''", in: transaction) {
      let marked = SyncScope(container: row.mark.id, includesChildren: true)
      let known = try PullState.scopes(in: transaction) + subscribed
      if known.contains(where: { $0 != marked && $0.contains(marked) }) { continue }
      try end([row.mark], in: transaction)
      if row.isUnplaced && !subscribed.contains(marked) { try PullState.forget(marked, in: transaction) }
    }
  }

  /// Returns the marked containers that belong to the pulled scopes.
  static func containers(in scopes: [SyncScope], in transaction: ReadTransaction) throws -> [SyncScope] {
    try rows(where: "type = ''", in: transaction)
      .map { SyncScope(container: $0.mark.id, includesChildren: true) }
      .filter { marked in scopes.contains { $0.contains(marked) } && !scopes.contains(marked) }
  }

  /// Returns the marked types that this schema declares.
  static func types(in transaction: ReadTransaction) throws -> [Mark] {
    try rows(where: "type <> '' AND id = ''", in: transaction).map(\.mark)
      .filter { transaction.catalog.tableIfKnown($0.type)?.schema.isSynced ?? false }
  }

  /// Returns the next records to request, all of one type, at most `limit`.
  static func records(
    in scopes: [SyncScope], limit: Int, in transaction: ReadTransaction
  ) throws -> [Mark] {
    var found: [Mark] = []
    for row in try rows(where: "type <> '' AND id <> ''", in: transaction) {
      guard found.isEmpty || found[0].type == row.mark.type, found.count < limit else { break }
      guard scopes.contains(where: { $0.contains(row.container) }),
        transaction.catalog.tableIfKnown(row.mark.type)?.schema.isSynced ?? false
      else { continue }
      found.append(row.mark)
    }
    return found
  }

  /// Returns the marks of which the local answer to a query may lack records.
  static func open(_ query: AnyQuery, in transaction: ReadTransaction) throws -> [Mark] {
    let scope = query.container.map { SyncScope(container: $0, includesChildren: query.includesChildren) }
    return try rows(where: "type = ?1 OR type = ''", [query.type], in: transaction).filter { row in
      guard let scope else { return true }
      if row.mark.type.isEmpty {
        return scope.overlaps(SyncScope(container: row.mark.id, includesChildren: true))
      }
      return row.mark.id.isEmpty || scope.contains(row.container)
    }
    .map(\.mark)
  }

  private static func rows(
    where condition: String = "1", _ arguments: [any StatementValue] = [], in transaction: ReadTransaction
  ) throws -> [Row] {
    try transaction.rows(
      """
      SELECT type, id, coalesce(container, type), mark, container IS NULL FROM bothy_refetch
      WHERE \(condition) ORDER BY type, id
      """, arguments
    ) { row in
      Row(
        mark: Mark(type: row.text(at: 0) ?? "", id: row.text(at: 1) ?? "", number: row.int(at: 3)),
        container: row.text(at: 2) ?? "", isUnplaced: row.int(at: 4) != 0)
    }
  }
}

/// Requests the records that are marked as unknown here, at the end of a sync that pulls, and ends the marks.
///
/// Costs one look at the marks. Then it costs one round trip and two transactions for each five hundred records of a
/// type. An interrupted run continues with the next sync.
struct Refetching: Sendable {
  let store: LocalStore
  let remote: any RemoteStorage
  /// The scopes that the sync pulls. Records elsewhere wait for a sync that pulls there.
  let scopes: [SyncScope]
  /// True if these are all scopes of the store.
  let isWhole: Bool
  /// Throws if the sync may not continue. Called before each request.
  let check: @Sendable () throws -> Void

  /// The results so far.
  struct Done: Sendable {
    var requests = 0
    var pulled = 0
    /// The highest position of a record that arrived.
    var position: Int64 = 0
    /// True if the server doesn't answer by id, so that the scopes are pulled again from the beginning.
    var needsPull = false
  }

  /// Throws `RemoteError`, `BothyError` and the errors of `check`.
  func run() async throws -> Done {
    var done = Done()
    while true {
      try check()
      let marks = try await store.read {
        try Refetch.records(in: scopes, limit: Comparison.fetchLimit, in: $0)
      }
      guard let type = marks.first?.type else { break }
      guard try await asking(&done, { try await fetch(marks, of: type, &$0) }) else { return done }
    }
    guard isWhole else { return done }
    let marks = try await store.read { try Refetch.types(in: $0) }
    if marks.isEmpty { return done }
    let all = try await store.read { try self.all(in: $0) }
    for mark in marks {
      for scope in all {
        guard try await asking(&done, for: [mark], { try await fetchAll(mark.type, in: scope, &$0) })
        else { return done }
      }
      try await store.write(origin: .remote) { try Refetch.end([mark], in: $0) }
    }
    return done
  }

  /// Returns the scopes of the sync, and those that were pulled on demand. Each of them lacks the records of a marked type.
  private func all(in transaction: ReadTransaction) throws -> [SyncScope] {
    let pulled = try PullState.all(in: transaction).filter { $0.cursor != nil || $0.isComplete }.map(\.scope)
    return scopes + pulled.filter { other in !scopes.contains { $0.contains(other) } }
  }

  /// Runs a query. If the server rejects queries, resets the scopes so that everything is pulled, and returns false. One that
  /// was pulled on demand is pulled when it is synced again.
  ///
  /// - Parameter types: the mark of the type that the query is for. It ends then, as a pull of all scopes brings the type.
  private func asking(
    _ done: inout Done, for types: [Refetch.Mark] = [], _ body: (inout Done) async throws -> Void
  ) async throws -> Bool {
    do {
      try await body(&done)
      return true
    } catch let error as RemoteError where error.isRefusalOfQueries {
      try await store.write(origin: .remote) { transaction in
        for scope in try types.isEmpty ? scopes : all(in: transaction) {
          // Another one stays complete, so that it is compared if the server begins another history before.
          let isComplete = types.isEmpty || !scopes.contains(scope)
          try PullState.reset(scope, isComplete: isComplete, in: transaction)
        }
        try Refetch.end(types, in: transaction)
      }
      done.needsPull = true
      return false
    }
  }

  private func fetch(_ marks: [Refetch.Mark], of type: String, _ done: inout Done) async throws {
    let versions = try await versions(of: marks.map(\.record))
    let found = try await remote.records(of: type, ids: marks.map(\.id))
    done.requests += 1
    let present = Set(found.map(\.id))
    let absent = marks.map(\.record).filter { !present.contains($0) }
    try await bring(found, absent, versions, ending: marks, &done)
  }

  /// Fetches all records of a type in a scope, by id, so that inserts and deletions meanwhile move none from page to
  /// page.
  private func fetchAll(_ type: String, in scope: SyncScope, _ done: inout Done) async throws {
    var last: String?
    while true {
      try check()
      var query = AnyQuery(
        type, where: last.map { .compare(field: "id", .greater, .text($0)) } ?? .all,
        order: [SortKey("id")], limit: Comparison.fetchLimit)
      if scope != .everything {
        (query.container, query.includesChildren) = (scope.container, scope.includesChildren)
      }
      let here = try await records(query, in: scope, after: last)
      let versions = try await versions(of: here)
      let found = try await remote.query(query)
      done.requests += 1
      let isLast = found.count < Comparison.fetchLimit
      let present = Set(found.map(\.id))
      let highest = found.last?.id.id ?? ""
      // The server sorts by bytes, and Swift by what texts mean to Unicode.
      let absent = here.filter { record in
        !present.contains(record) && (isLast || !highest.utf8.lexicographicallyPrecedes(record.id.utf8))
      }
      try await bring(found, absent, versions, ending: [], &done)
      if isLast { return }
      last = highest
    }
  }

  /// Returns the records of a query that are here, with those of its type and scope that are kept aside.
  private func records(
    _ query: AnyQuery, in scope: SyncScope, after last: String?
  ) async throws -> [RecordID] {
    var all = query
    all.limit = nil
    let final = all
    return try await store.read { transaction in
      let rows = try transaction.ids(final).map { RecordID(type: final.type, id: $0) }
      let aside = try UnreadableTable.records(in: transaction).values.filter { record in
        record.id.type == final.type && scope.contains(record.container)
          && last.map { $0.utf8.lexicographicallyPrecedes(record.id.id.utf8) } ?? true
      }
      return Array(Set(rows).union(aside.map(\.id)))
    }
  }

  private func versions(of records: [RecordID]) async throws -> [RecordID: String] {
    try await store.read { transaction in
      var versions: [RecordID: String] = [:]
      for id in records {
        guard let table = transaction.catalog.tableIfKnown(id.type) else { continue }
        versions[id] = try Comparison.version(of: id, table, in: transaction)
      }
      return versions
    }
  }

  private func bring(
    _ found: [ServerRecord], _ absent: [RecordID], _ versions: [RecordID: String],
    ending marks: [Refetch.Mark], _ done: inout Done
  ) async throws {
    let pulled = try await store.write(origin: .remote) { transaction in
      let scopes = try PullState.scopes(in: transaction)
      var difference = Comparison.Difference(versions: versions)
      // A record that the server never had stays, because it was created here and accepted as it is.
      difference.extra = absent.filter { versions[$0] != nil }
      var wanted: [ServerRecord] = []
      for record in found {
        switch try place(of: record, scopes, in: transaction) {
        case .here: wanted.append(record)
        case .left:
          try QueryCompleteness.forget(record.id.type, in: transaction)
          difference.extra.append(record.id)
        case .elsewhere, .asKnown: continue
        }
      }
      let (brought, _) = try Comparison.bring(wanted, difference, in: transaction)
      try Refetch.end(marks, in: transaction)
      return brought.count
    }
    done.pulled += pulled
    done.position = max(done.position, found.compactMap { Int64($0.version) }.max() ?? 0)
  }

  private enum Place { case here, left, elsewhere, asKnown }

  /// Decides if a record belongs on this device, because it is in a pulled scope or was kept here outside all of them.
  private func place(
    of record: ServerRecord, _ scopes: [SyncScope], in transaction: ReadTransaction
  ) throws -> Place {
    let isFollowed = scopes.contains { $0.contains(record.container) }
    guard let table = transaction.catalog.tableIfKnown(record.id.type),
      let row = try transaction.row(table, id: record.id.id)
    else { return isFollowed ? .here : .elsewhere }
    let container = row.container ?? record.id.type
    if !isFollowed && scopes.contains(where: { $0.contains(container) }) { return .left }
    let isSame =
      row.version == record.version && container == record.container
      && table.document(row) == record.fields
    return try isSame && OutboxQueue.mark(record.id, in: transaction) == nil ? .asKnown : .here
  }
}

extension RemoteStorage {
  /// Returns the records of a type with these ids that the user may see, at most a thousand of them. One round trip.
  func records(of type: String, ids: [String]) async throws(RemoteError) -> [ServerRecord] {
    var query = AnyQuery(type, where: .oneOf(field: "id", ids.map { .text($0) }))
    query.limit = ids.count
    return try await self.query(query)
  }
}

extension RemoteError {
  /// True if the server answers no such query, now or later.
  fileprivate var isRefusalOfQueries: Bool {
    switch errorClass {
    case .rejected, .notFound, .forbidden:
      code != BoundRemote.otherServer && code != BoundRemote.signedOutCode
    case .unreachable, .unauthenticated, .throttled, .serverError, .conflict: false
    }
  }
}
