import BothyStore
import Synchronization

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
  func isAt(_ page: SyncResponse.Page) -> Bool { isComplete && cursor == page.cursor && isQuiet(page) }

  /// True if a page reports no changes of the scope, so that taking it moves the cursor at most.
  func isQuiet(_ page: SyncResponse.Page) -> Bool {
    staged == nil && !isResetting && !page.reset && !page.more && page.isEmpty
  }

  /// The cursor from which the next page is requested.
  var next: String? { staged ?? cursor }

  /// Ends a pull whose pages are all shown.
  mutating func end(at cursor: String, _ time: Int64) {
    (self.cursor, staged, pulledAt) = (cursor, nil, time)
    (isResetting, isOtherHistory, isComplete) = (false, false, true)
  }

  static func load(_ scope: SyncScope, in transaction: ReadTransaction) throws -> PullState {
    try transaction.first(
      "SELECT \(columns) FROM bothy_cursor WHERE container = ? AND children = ?", scope, read: state)
      ?? PullState(
        scope: scope, isResetting: false, isComplete: false,
        generation: SyncValues.value(generationKey(scope), in: transaction).flatMap { Int64($0) } ?? 0)
  }

  /// The key of the generation with which a forgotten scope begins again.
  private static func generationKey(_ scope: SyncScope) -> String {
    "generation:" + (scope.includesChildren ? "+" : "-") + scope.container
  }

  /// Returns the states of all scopes of which a pull has begun. One statement.
  static func all(in transaction: ReadTransaction) throws -> [PullState] {
    try transaction.rows(
      "SELECT \(columns) FROM bothy_cursor ORDER BY container, children", read: state)
  }

  private static let columns =
    "container, children, cursor, staged, resetting, complete, pulled_at, generation"

  private static func state(_ row: PreparedStatement) -> PullState {
    PullState(
      scope: pulledScope(row), cursor: row.text(at: 2), staged: row.text(at: 3),
      isResetting: row.int(at: 4) != 0, isOtherHistory: row.int(at: 4) == 2, isComplete: row.int(at: 5) != 0,
      pulledAt: row.optionalInt(at: 6), generation: row.int(at: 7))
  }

  private static func pulledScope(_ row: PreparedStatement) -> SyncScope {
    SyncScope(container: row.text(at: 0) ?? "", includesChildren: row.int(at: 1) != 0)
  }

  /// Returns the scopes that the store pulls, which are those of which a pull has begun.
  static func scopes(in transaction: ReadTransaction) throws -> [SyncScope] {
    try transaction.rows(
      "SELECT container, children FROM bothy_cursor ORDER BY container, children", read: pulledScope)
  }

  /// True if a pull has brought all of a scope of this record up to its version. A record that isn't here then no
  /// longer exists on the server. False for a version that isn't a position.
  ///
  /// - Parameter former: states that were read before. Only scopes that were pulled further since count.
  static func knows(
    _ record: ServerRecord, since former: [PullState] = [], in transaction: ReadTransaction
  ) throws -> Bool {
    guard let version = Int64(record.version) else { return false }
    return try all(in: transaction).contains { state in
      guard state.isComplete, state.scope.contains(record.container),
        !former.contains(where: { $0.scope == state.scope && $0.cursor == state.cursor }),
        let position = state.cursor.flatMap(Cursor.init(token:))?.position
      else { return false }
      return version <= position
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
    try Stage.clear(scope, in: transaction)
  }

  /// True if the scope was forgotten since this state was read.
  func isForgotten(in transaction: ReadTransaction) throws -> Bool {
    try Self.load(scope, in: transaction).generation != generation
      && !Self.scopes(in: transaction).contains(scope)
  }

  /// Forgets a scope that the store no longer pulls. No page that was requested before is taken after it.
  static func forget(_ scope: SyncScope, in transaction: WriteTransaction) throws {
    let generation = try load(scope, in: transaction).generation + 1
    try SyncValues.set(generationKey(scope), String(generation), in: transaction)
    try transaction.run("DELETE FROM bothy_cursor WHERE container = ? AND children = ?", scope)
    try Stage.clear(scope, in: transaction)
  }

  static func resetAll(in transaction: WriteTransaction) throws {
    for scope in try scopes(in: transaction) { try reset(scope, in: transaction) }
  }
}

extension SyncResponse.Page {
  /// True if the page has no record, whatever its cursor.
  fileprivate var isEmpty: Bool {
    changes.isEmpty && unreadable.isEmpty && outOfScope.isEmpty && types.isEmpty
  }
}

/// The staged pages of scopes, as the JSON they came in.
enum Stage {
  /// Adds a page after those that are staged. One without records isn't kept.
  static func append(_ page: SyncResponse.Page, in transaction: WriteTransaction) throws {
    if page.isEmpty { return }
    var writer = JSONWriter(reserving: page.changes.count * 256)
    page.write(to: &writer)
    try transaction.run(
      """
      INSERT INTO bothy_stage SELECT ?1, ?2, coalesce(max(page), 0) + 1, ?3 FROM bothy_stage
      WHERE container = ?1 AND children = ?2
      """, page.scope, writer.bytes)
  }

  /// Visits the pages in the order they came, one in memory at a time.
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

  static func clear(_ scope: SyncScope, in transaction: WriteTransaction) throws {
    try transaction.run("DELETE FROM bothy_stage WHERE container = ? AND children = ?", scope)
  }
}

/// The times at which the server last reported a scope, also that it has nothing new. They are kept in memory, because
/// they aren't worth a commit.
///
/// A time is written to the file with the next write, and by itself once the file's time is an hour old. So after a
/// relaunch an answer may seem up to an hour older than it is, never newer.
final class HeardScopes: Sendable {
  /// The greatest age of the file's time, in milliseconds.
  static let interval: Int64 = 3_600_000
  private let times = Mutex<[SyncScope: Int64]>([:])

  /// Notes the time of an answer. It is earlier than the last one after the clock was set back.
  func note(_ scope: SyncScope, at time: Int64) { times.withLock { $0[scope] = time } }

  /// Returns the time at which a pull of the scope was last completed, or `nil`.
  func time(of state: PullState) -> Int64? {
    guard let stored = state.pulledAt else { return nil }
    guard state.isComplete, let heard = times.withLock({ $0[state.scope] }) else { return stored }
    return max(stored, heard)
  }
}

/// The scopes that a store pulls unless a call names others.
final class SubscribedScopes: Sendable {
  private let scopes: Mutex<[SyncScope]>

  init(_ scopes: [SyncScope]) { self.scopes = Mutex(scopes) }

  var current: [SyncScope] {
    get { scopes.withLock { $0 } }
    set { scopes.withLock { $0 = newValue } }
  }
}

/// Changes the scopes that a store pulls, in one transaction.
///
/// Records outside all new scopes are evicted, but one with pending work stays until the server has it. The next pull
/// brings the records of added scopes.
enum SubscriptionTable {
  private static let key = "following"
  /// The scopes that the store was last opened with, whatever it follows since.
  private static let openedKey = "following:opened"

  static func stored(in transaction: ReadTransaction) throws -> [SyncScope]? {
    try stored(key, in: transaction)
  }

  private static func stored(_ key: String, in transaction: ReadTransaction) throws -> [SyncScope]? {
    guard let text = try SyncValues.value(key, in: transaction) else { return nil }
    return try JSONValue(parsing: text).arrayValue?.compactMap { value in
      value["container"]?.stringValue.map {
        SyncScope(container: $0, includesChildren: value["children"] == true)
      }
    }
  }

  /// Returns the scopes that the file at `path` was last opened with, or `nil`. Opens the file for reading only.
  static func opened(at path: String) throws -> [SyncScope]? {
    try SyncValues.reading(path, LocalStore.storedSchema(at: path)) { try stored(openedKey, in: $0) }
  }

  /// Returns the scopes that a store follows when it is opened with those that the app names.
  ///
  /// A file keeps its subscriptions. If the app passes other scopes than at the last opening, the added ones are added,
  /// and those that it no longer passes are removed.
  static func open(with named: [SyncScope], in transaction: WriteTransaction) throws -> [SyncScope] {
    let scopes = transaction.catalog.wireNames.present(named)
    var result = scopes
    let opened = try stored(openedKey, in: transaction)
    if let before = opened, let current = try stored(in: transaction) {
      result = current.filter { !before.contains($0) || scopes.contains($0) }
      result += scopes.filter { !before.contains($0) && !result.contains($0) }
    }
    try change(to: result, in: transaction)
    if opened != scopes { try save(scopes, as: openedKey, in: transaction) }
    return result
  }

  /// Returns the number of evicted records. Costs one look-up if nothing changes, and otherwise one scan of the types'
  /// tables.
  @discardableResult
  static func change(to scopes: [SyncScope], in transaction: WriteTransaction) throws -> Int {
    let before = try stored(in: transaction)
    guard before != scopes else { return 0 }
    try save(scopes, as: key, in: transaction)
    guard let before else { return 0 }
    for scope in before where !scopes.contains(scope) { try PullState.forget(scope, in: transaction) }
    try Refetch.end(outside: scopes, in: transaction)
    let left = try PullState.scopes(in: transaction) + scopes
    try reconsider(before, left, in: transaction)
    return try evict(before, left, in: transaction)
  }

  /// Gives a container its new name in the scopes that the file keeps.
  static func rename(_ container: String, _ name: String, in transaction: ReadTransaction) throws {
    for key in [Self.key, Self.openedKey] {
      guard var scopes = try stored(key, in: transaction) else { continue }
      for index in scopes.indices where scopes[index].container == container {
        scopes[index].container = name
      }
      try transaction.run("UPDATE bothy_sync SET value = ? WHERE key = ?", text(of: scopes), key)
    }
  }

  private static func save(_ scopes: [SyncScope], as key: String, in transaction: WriteTransaction) throws {
    try SyncValues.set(key, text(of: scopes), in: transaction)
  }

  private static func text(of scopes: [SyncScope]) -> String {
    let value = scopes.map { scope in
      JSONValue.object(["container": .string(scope.container), "children": .bool(scope.includesChildren)])
    }
    return JSONValue.array(value).canonicalText
  }

  /// Marks records with pending work that are evicted when it is done, and unmarks those that stay after all. A record
  /// stays if its local container or the server's is in the new scopes.
  private static func reconsider(
    _ before: [SyncScope], _ now: [SyncScope], in transaction: WriteTransaction
  ) throws {
    for entry in try OutboxQueue.entries(in: transaction) {
      let places = [
        try OutboxQueue.container(of: entry, in: transaction),
        try OutboxQueue.serverContainer(of: entry, in: transaction),
      ]
      func isIn(_ scopes: [SyncScope]) -> Bool { scopes.contains { places.contains(where: $0.contains) } }
      if isIn(now) {
        if entry.isLeaving { try OutboxQueue.leave(entry.id, isLeaving: false, in: transaction) }
      } else if isIn(before) {
        try OutboxQueue.leave(entry.id, in: transaction)
      }
    }
  }

  private static func evict(
    _ before: [SyncScope], _ now: [SyncScope], in transaction: WriteTransaction
  ) throws -> Int {
    func isGone(_ container: String) -> Bool {
      before.contains { $0.contains(container) } && !now.contains { $0.contains(container) }
    }
    var removed = 0
    for table in transaction.catalog.tables where table.schema.isSynced {
      let gone = try transaction.rows(
        """
        SELECT _id, coalesce(_container, ?1) FROM \(table.name)
        WHERE NOT EXISTS (SELECT 1 FROM bothy_outbox WHERE type = ?1 AND id = \(table.name)._id)
        """, table.schema.name
      ) { row -> (id: String, container: String)? in
        guard let id = row.text(at: 0), let container = row.text(at: 1), isGone(container) else { return nil }
        return (id, container)
      }
      for container in Set(gone.map(\.container)) {
        try QueryCompleteness.forget(table.schema.name, in: container, in: transaction)
      }
      for (id, _) in gone {
        if try transaction.evict(table, id: id) { removed += 1 }
        let id = RecordID(type: table.schema.name, id: id)
        try StaleRows.forget(id, in: transaction)
        try OutboxQueue.endDoubt(id, in: transaction)
      }
    }
    var unknown: [RecordID] = []
    try UnrecognizedRecords.forEach(in: transaction) { if isGone($0.container) { unknown.append($0.id) } }
    for id in unknown { try UnrecognizedRecords.remove(id, in: transaction) }
    try UnreadableTable.remove(where: isGone, in: transaction)
    return removed
  }
}
