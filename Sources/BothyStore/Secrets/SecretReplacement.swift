package import GRDB
import Synchronization

/// Stores the secrets of one write just before its commit, and keeps those that they replace until it has ended.
///
/// The replaced ones are in the secret store too, with a mark that the transaction writes to the file. If the process
/// ends in between, the file says which of them count, and `recover` removes the others.
package final class SecretReplacement: Sendable {
  /// Begins the names of the rows with the marks of committed writes.
  private static let row = "secrets "

  private let store: any SecretStore
  /// The keys of the replaced secrets.
  private let kept = Mutex<[SecretKey]>([])

  init(in store: any SecretStore) { self.store = store }

  /// - Parameter removed: the keys whose secrets no longer count.
  func set(
    _ secrets: [SecretKey: String], removing removed: Set<SecretKey> = [], in database: Database
  ) throws {
    let keys = removed.union(secrets.keys)
    guard !keys.isEmpty else { return }
    try Self.recover(store, in: database)
    let mark = UUIDv7.make()
    try database.execute(sql: "INSERT INTO bothy_meta VALUES (?, '')", arguments: [Self.row + mark])
    for key in keys {
      // An unreadable value, such as one of a damaged file, can't be put back.
      if case .success(let old) = Result(catching: { try store.secret(key) }) {
        let place = Self.key(key, mark)
        kept.withLock { $0.append(place) }
        try store.set(old.map { "+" + $0 } ?? "-", for: place)
      }
      try store.set(secrets[key], for: key)
    }
  }

  /// Ends the write after its commit. What a locked store refuses now is left to `recover`.
  func end() {
    for place in kept.withLock({ $0 }) { try? Self.end(place, isCommitted: true, in: store) }
  }

  /// Puts the replaced secrets back after a rollback. Runs in a transaction of its own, so that no other process
  /// replaces one at the same time. What a locked store refuses now is left to `recover`.
  func undo(in database: Database) {
    let places = kept.withLock { $0 }
    if places.isEmpty { return }
    // A transaction that can't begin leaves all of it to `recover`.
    try? database.inTransaction(.immediate) {
      for place in places { try? Self.end(place, isCommitted: false, in: store) }
      return .commit
    }
  }

  /// Ends the writes whose process ended first. Runs in a write transaction of their file, so that none is under way.
  /// Reads the keys of all secrets.
  package static func recover(_ store: any SecretStore, in database: Database) throws {
    let committed = try Set(
      String.fetchAll(database, sql: "SELECT key FROM bothy_meta WHERE key GLOB '\(row)*'"))
    for place in try store.keys() {
      guard let mark = parts(of: place).mark else { continue }
      try end(place, isCommitted: committed.contains(row + mark), in: store)
    }
    if !committed.isEmpty { try database.execute(sql: "DELETE FROM bothy_meta WHERE key GLOB '\(row)*'") }
  }

  private static func end(_ place: SecretKey, isCommitted: Bool, in store: any SecretStore) throws {
    if !isCommitted {
      guard let old = try store.secret(place) else { return }  // Another process has ended the write.
      try store.set(old.hasPrefix("+") ? String(old.dropFirst()) : nil, for: parts(of: place).key)
    }
    try store.remove(place)
  }

  /// Returns the key of a secret that a write with a mark has replaced, or of one that counts.
  static func key(_ key: SecretKey, _ mark: String?) -> SecretKey {
    mark.map { SecretKey(key.record, field: "\(key.field)~\($0)") } ?? key
  }

  /// Returns the key by which a secret counts, and the mark of a replaced one.
  package static func parts(of place: SecretKey) -> (key: SecretKey, mark: String?) {
    let parts = place.field.split(separator: "~", maxSplits: 1).map(String.init)
    guard parts.count == 2 else { return (place, nil) }
    return (SecretKey(place.record, field: parts[0]), parts[1])
  }
}

/// The keys of secrets over a migration.
extension SecretReplacement {
  /// Copies the secrets of renamed types and fields to their new keys. Removes one whose own key now belongs to another
  /// sensitive field, which the next push otherwise sends it for. Reads the keys of all secrets.
  func rename(by steps: [Migration.Step], to schema: StoreSchema, in database: Database) throws {
    guard steps.contains(where: \.changesNames) else { return }
    try Self.recover(store, in: database)
    var (moved, replaced) = ([SecretKey: String](), Set<SecretKey>())
    for key in try store.keys() {
      let present = key.renamed(by: steps)
      if present == key { continue }
      if schema[key.record.type]?[key.field]?.isSensitive == true { replaced.insert(key) }
      if let present { moved[present] = try store.secret(key) }
    }
    try set(moved, removing: replaced.subtracting(moved.keys), in: database)
  }
}

extension SecretKey {
  /// Returns the key after steps of a migration. Nil if one of them drops its type or its field.
  package func renamed(by steps: [Migration.Step]) -> SecretKey? {
    var (type, field) = (record.type, self.field)
    for step in steps {
      switch step {
      case .renameType(type, let to): type = to
      case .renameField(type, field, let to): field = to
      case .dropType(type), .dropField(type, field): return nil
      default: break
      }
    }
    return SecretKey(RecordID(type: type, id: record.id), field: field)
  }
}

extension Migration.Step {
  fileprivate var changesNames: Bool {
    switch self {
    case .renameType, .renameField, .dropType, .dropField: true
    case .makeSensitive, .convertField: false
    }
  }
}
