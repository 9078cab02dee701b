import BothyStore
import Synchronization

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

  /// Returns the scopes that a store follows when it is opened with `scopes`.
  ///
  /// A file keeps its subscriptions. If the app passes other scopes than at the last opening, the added ones are added,
  /// and those that it no longer passes are removed.
  static func open(with scopes: [SyncScope], in transaction: WriteTransaction) throws -> [SyncScope] {
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
    let left = try PullState.scopes(in: transaction) + scopes
    try reconsider(before, left, in: transaction)
    return try evict(before, left, in: transaction)
  }

  private static func save(_ scopes: [SyncScope], as key: String, in transaction: WriteTransaction) throws {
    let value = scopes.map { scope in
      JSONValue.object(["container": .string(scope.container), "children": .bool(scope.includesChildren)])
    }
    try SyncValues.set(key, JSONValue.array(value).canonicalText, in: transaction)
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
        if entry.isLeaving { try OutboxQueue.leave(entry.record, isLeaving: false, in: transaction) }
      } else if isIn(before) {
        try OutboxQueue.leave(entry.record, in: transaction)
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
        try StaleRows.forget(RecordID(type: table.schema.name, id: id), in: transaction)
      }
    }
    var unknown: [RecordID] = []
    try UnrecognizedRecords.forEach(in: transaction) { if isGone($0.container) { unknown.append($0.id) } }
    for id in unknown { try UnrecognizedRecords.remove(id, in: transaction) }
    try UnreadableTable.remove(where: isGone, in: transaction)
    return removed
  }
}
