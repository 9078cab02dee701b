import BothyStore
import GRDB
import Synchronization

/// Which scopes a store follows: what is pulled when nothing else is asked for.
final class FollowedScopes: Sendable {
  private let scopes: Mutex<[PullScope]>

  init(_ scopes: [PullScope]) { self.scopes = Mutex(scopes) }

  var current: [PullScope] {
    get { scopes.withLock { $0 } }
    set { scopes.withLock { $0 = newValue } }
  }
}

/// The change from following some scopes to following others, in one transaction.
///
/// What is in no scope that is followed any more goes from this device; a record with pending work stays until the
/// server has it. What is new is brought by the next pull.
enum Following {
  private static let key = "following"

  static func stored(in transaction: ReadTransaction) throws -> [PullScope]? {
    guard let text = try SyncValues.value(key, in: transaction) else { return nil }
    return try JSONValue(parsing: text).arrayValue?.compactMap { value in
      value["container"]?.stringValue.map {
        PullScope(container: $0, includesChildren: value["children"] == true)
      }
    }
  }

  /// The scopes that the file at `path` follows. Opens it for reading only.
  static func stored(at path: String) throws -> [PullScope]? {
    let schema = try Store.storedSchema(at: path)
    do {
      return try Connections.reading(path) { database in
        guard try database.tableExists("bothy_sync") else { return nil }
        return try stored(in: ReadTransaction(database, Catalog(schema)))
      }
    } catch {
      throw StoreError(error, path: path)
    }
  }

  /// Returns the number of records removed. Costs one look-up when nothing changes, else one scan of the types'
  /// tables.
  @discardableResult
  static func change(to scopes: [PullScope], in transaction: WriteTransaction) throws -> Int {
    let before = try stored(in: transaction)
    guard before != scopes else { return 0 }
    try save(scopes, in: transaction)
    guard let before else { return 0 }
    for scope in before where !scopes.contains(scope) { try PullState.forget(scope, in: transaction) }
    let left = try PullState.scopes(in: transaction) + scopes
    try reconsider(before, left, in: transaction)
    return try evict(before, left, in: transaction)
  }

  private static func save(_ scopes: [PullScope], in transaction: WriteTransaction) throws {
    let value = scopes.map { scope in
      JSONValue.object(["container": .string(scope.container), "children": .bool(scope.includesChildren)])
    }
    try SyncValues.set(key, JSONValue.array(value).canonicalText, in: transaction)
  }

  /// Records with pending work go when it is done, or stay after all: those that are followed where they are here, or
  /// where the server has them.
  private static func reconsider(
    _ before: [PullScope], _ now: [PullScope], in transaction: WriteTransaction
  ) throws {
    for entry in try Outbox.entries(in: transaction) {
      let places = [
        try Outbox.container(of: entry, in: transaction),
        try Outbox.serverContainer(of: entry, in: transaction),
      ]
      func isIn(_ scopes: [PullScope]) -> Bool { scopes.contains { places.contains(where: $0.contains) } }
      if isIn(now) {
        if entry.isLeaving { try Outbox.leave(entry.record, isLeaving: false, in: transaction) }
      } else if isIn(before) {
        try Outbox.leave(entry.record, in: transaction)
      }
    }
  }

  private static func evict(
    _ before: [PullScope], _ now: [PullScope], in transaction: WriteTransaction
  ) throws -> Int {
    func isGone(_ container: String) -> Bool {
      before.contains { $0.contains(container) } && !now.contains { $0.contains(container) }
    }
    var removed = 0
    for table in transaction.catalog.tables where table.schema.isSynced {
      let select = try PreparedStatement(
        """
        SELECT _id, coalesce(_container, ?1) FROM \(table.name)
        WHERE NOT EXISTS (SELECT 1 FROM bothy_outbox WHERE type = ?1 AND id = \(table.name)._id)
        """, in: transaction.database)
      select.bind(table.schema.name, at: 1)
      var gone: [String] = []
      var containers: Set<String> = []
      while try select.step() {
        if let id = select.text(at: 0), let container = select.text(at: 1), isGone(container) {
          gone.append(id)
          containers.insert(container)
        }
      }
      select.reset()
      for container in containers {
        try Coverage.forget(table.schema.name, in: container, in: transaction)
      }
      for id in gone where try transaction.evict(table, id: id) { removed += 1 }
    }
    var unknown: [RecordID] = []
    try UnknownTypes.forEach(in: transaction) { if isGone($0.container) { unknown.append($0.id) } }
    for id in unknown { try UnknownTypes.remove(id, in: transaction) }
    try UnreadableTable.remove(where: isGone, in: transaction)
    return removed
  }
}
