import BothyStore

/// The sensitive values of a document's changes while the app's migrations run on them. Steps make fields sensitive and
/// rename those that are, so they move values to the store of secrets.
///
/// The steps run on copies in memory, in place of the store of the file that takes the changes in. Otherwise they lose the
/// values that they move, or replace values of other records.
struct PendingSecrets {
  /// The store for the steps.
  let moved = MemorySecretStore()
  /// The store of the file that takes the changes in, or `nil` if no type has sensitive fields.
  private let own: (any SecretStore)?

  /// Copies the values that the file's store has for the document's records. A document has no values of its own.
  init(
    of document: PendingDocument, to target: StoreSchema, beside path: String, _ options: StoreOptions
  ) throws {
    let types = document.schema.types + target.types
    guard types.contains(where: { $0.fields.contains(where: \.isSensitive) }) else {
      own = nil
      return
    }
    let store = options.secrets ?? LocalStore.ownSecrets(path)
    own = store
    let records = Set(document.entries.map(\.record))
    for key in try store.keys() where records.contains(key.record) {
      // A value that a write under way has replaced doesn't count.
      guard SecretReplacement.parts(of: key).mark == nil else { continue }
      moved.set(try store.secret(key), for: key)
    }
  }

  /// Returns the values of the migrated document's changes that the file's store lacks.
  func found(for document: PendingDocument) throws -> [SecretKey: String] {
    guard let own else { return [:] }
    let records = Set(document.entries.map(\.record))
    var found: [SecretKey: String] = [:]
    for key in moved.keys() where records.contains(key.record) {
      guard let secret = moved.secret(key), try own.secret(key) != secret else { continue }
      found[key] = secret
    }
    return found
  }
}
