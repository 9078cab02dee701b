import BothyStore

/// The sensitive values of a document's changes, or of salvaged records, while the app's migrations run on them. Steps
/// make fields sensitive and rename those that are, so they move values to the store of secrets.
///
/// The steps run on copies in memory, in place of the store of the file that takes the changes in. Otherwise they lose the
/// values that they move, or replace values of other records.
struct PendingSecrets {
  /// The store for the steps.
  let moved = MemorySecretStore()
  /// The store of the file that takes the changes in, or `nil` if no type has sensitive fields.
  private let own: (any SecretStore)?

  /// Copies the values that the file's store has for the records. A document has no values of its own.
  init(
    of records: [RecordID], _ schema: StoreSchema, to target: StoreSchema, beside path: String,
    _ options: StoreOptions
  ) throws {
    let types = schema.types + target.types
    guard types.contains(where: { $0.fields.contains(where: \.isSensitive) }) else {
      own = nil
      return
    }
    let store = options.secrets ?? LocalStore.ownSecrets(path)
    own = store
    let records = Set(records)
    for key in try store.keys() where records.contains(key.record) {
      // A value that a write under way has replaced doesn't count.
      guard SecretReplacement.parts(of: key).mark == nil else { continue }
      moved.set(try store.secret(key), for: key)
    }
  }

  /// Runs the app's migrations on a file of its own, which `fill` fills by the old schema. Returns what `read` finds there
  /// by the new one.
  func migrating<Content>(
    _ schema: StoreSchema, to target: StoreSchema, beside path: String, _ migrations: [Migration],
    _ options: StoreOptions, _ clock: SyncClock, fill: (WriteTransaction) throws -> Void,
    read: (ReadTransaction) throws -> Content
  ) throws -> Content {
    let temporary = "\(path)-import-\(UUIDv7.make())"
    defer { try? DatabaseFiles.remove(temporary) }  // the rest is deleted with the database
    var options = options
    options.secrets = moved
    let old = try LocalStore.recording(at: temporary, schema: schema, options: options, clock: clock)
    try old.write(origin: .remote) { try fill($0) }
    try old.close()
    let new = try LocalStore.recording(
      at: temporary, schema: target, migrations: migrations, options: options, clock: clock)
    let content = try new.read { try read($0) }
    try new.close()
    return content
  }

  /// Returns the values of the migrated records that the file's store lacks.
  func found(for records: [RecordID]) throws -> [SecretKey: String] {
    guard let own else { return [:] }
    let records = Set(records)
    var found: [SecretKey: String] = [:]
    for key in moved.keys() where records.contains(key.record) {
      guard let secret = moved.secret(key), try own.secret(key) != secret else { continue }
      found[key] = secret
    }
    return found
  }
}
