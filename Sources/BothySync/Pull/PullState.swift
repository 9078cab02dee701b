import BothyStore

/// The position to which a scope was pulled, and the pages of an incomplete pull.
struct PullState: Sendable, Hashable {
  var scope: SyncScope
  /// The cursor that the local records are at, or `nil` before the first complete pull.
  var cursor: String?
  /// The cursor behind the staged pages, or `nil` if nothing is staged.
  var staged: String?
  /// True if the staged pages began a complete snapshot.
  var isResetting: Bool
  /// True if that snapshot is of another history than the local records. It is shown only if nothing is lost, or by a
  /// decision.
  var isOtherHistory = false
  /// True if a pull has ever been completed.
  var isComplete: Bool
  /// The time of the last complete pull, in milliseconds since 1970, or `nil`.
  var pulledAt: Int64?
  /// A number that rises with each reset and each page taken. A page that was requested before that isn't taken.
  var generation: Int64 = 0

  /// True if a page reports that the scope hasn't changed since its last complete pull.
  func isAt(_ page: SyncResponse.Page) -> Bool {
    isComplete && staged == nil && !isResetting && cursor == page.cursor && !page.reset && !page.more
      && page.changes.isEmpty && page.unreadable.isEmpty && page.outOfScope.isEmpty
  }

  /// The cursor from which the next page is requested.
  var next: String? { staged ?? cursor }

  static func load(_ scope: SyncScope, in transaction: ReadTransaction) throws -> PullState {
    try transaction.first(
      """
      SELECT cursor, staged, resetting, complete, pulled_at, generation FROM bothy_cursor
      WHERE container = ? AND children = ?
      """, scope
    ) { row in
      PullState(
        scope: scope, cursor: row.text(at: 0), staged: row.text(at: 1), isResetting: row.int(at: 2) != 0,
        isOtherHistory: row.int(at: 2) == 2, isComplete: row.int(at: 3) != 0,
        pulledAt: row.optionalInt(at: 4), generation: row.int(at: 5))
    } ?? PullState(scope: scope, isResetting: false, isComplete: false)
  }

  static func all(in transaction: ReadTransaction) throws -> [PullState] {
    try scopes(in: transaction).map { try load($0, in: transaction) }
  }

  /// Returns the scopes that the store pulls, which are those of which a pull has begun.
  static func scopes(in transaction: ReadTransaction) throws -> [SyncScope] {
    try transaction.rows("SELECT container, children FROM bothy_cursor ORDER BY container, children") {
      SyncScope(container: $0.text(at: 0) ?? "", includesChildren: $0.int(at: 1) != 0)
    }
  }

  /// True if a pull has brought all of a scope of this record up to its version. A record that isn't here then no
  /// longer exists on the server. False for a version that isn't a position.
  static func knows(_ record: ServerRecord, in transaction: ReadTransaction) throws -> Bool {
    guard let version = Int64(record.version) else { return false }
    return try all(in: transaction).contains { state in
      state.isComplete && state.scope.contains(record.container)
        && state.cursor.flatMap(Cursor.init(token:)).map { version <= $0.position } ?? false
    }
  }

  func save(in transaction: WriteTransaction) throws {
    try transaction.run(
      """
      INSERT INTO bothy_cursor VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (container, children) DO UPDATE SET
        cursor = excluded.cursor, staged = excluded.staged, resetting = excluded.resetting,
        complete = excluded.complete, pulled_at = excluded.pulled_at, generation = excluded.generation
      """, scope, cursor, staged, isResetting ? isOtherHistory ? 2 : 1 : 0, isComplete, pulledAt, generation)
  }

  /// Makes the next pull of the scope start over and bring everything. The local records stay readable until then.
  ///
  /// - Parameter isComplete: false if the local records aren't all that was pulled.
  static func reset(
    _ scope: SyncScope, isComplete: Bool = true, in transaction: WriteTransaction
  ) throws {
    var state = try load(scope, in: transaction)
    state.isComplete = state.isComplete && isComplete
    try ServerBinding.note(state.cursor, in: transaction)
    state.cursor = nil
    state.staged = nil
    state.isResetting = false
    state.isOtherHistory = false
    state.generation += 1
    try state.save(in: transaction)
    try Stage(scope: scope, transaction: transaction).clear()
  }

  /// Forgets a scope that the store no longer pulls.
  static func forget(_ scope: SyncScope, in transaction: WriteTransaction) throws {
    try transaction.run("DELETE FROM bothy_cursor WHERE container = ? AND children = ?", scope)
    try Stage(scope: scope, transaction: transaction).clear()
  }

  static func resetAll(in transaction: WriteTransaction) throws {
    for state in try all(in: transaction) { try reset(state.scope, in: transaction) }
  }
}

/// The staged pages of one scope, as the JSON they came in.
struct Stage {
  let scope: SyncScope
  let transaction: WriteTransaction

  func append(_ page: SyncResponse.Page) throws {
    var writer = JSONWriter(reserving: page.changes.count * 256)
    page.write(to: &writer)
    try transaction.run(
      """
      INSERT INTO bothy_stage SELECT ?1, ?2, coalesce(max(page), 0) + 1, ?3 FROM bothy_stage
      WHERE container = ?1 AND children = ?2
      """, scope, writer.bytes)
  }

  /// Visits the pages in the order they came, one in memory at a time.
  func forEach(_ body: (SyncResponse.Page) throws -> Void) throws {
    try Self.forEach(scope, in: transaction, body)
  }

  static func forEach(
    _ scope: SyncScope, in transaction: ReadTransaction, _ body: (SyncResponse.Page) throws -> Void
  ) throws {
    let select = try PreparedStatement(
      "SELECT body FROM bothy_stage WHERE container = ? AND children = ? ORDER BY page",
      in: transaction.database)
    select.bind(scope.container, at: 1)
    select.bind(scope.includesChildren ? 1 : 0, at: 2)
    defer { select.reset() }
    while try select.step() {
      try body(try JSONReader.read(select.bytes(at: 0)) { try SyncResponse.Page(from: &$0) })
    }
  }

  func clear() throws {
    try transaction.run("DELETE FROM bothy_stage WHERE container = ? AND children = ?", scope)
  }
}
