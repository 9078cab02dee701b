import BothyStore

/// The secrets of pending changes: put into operations when they are sent, forgotten when nothing waits for them any
/// more. They are never part of what the outbox stores.
struct SecretWork {
  let store: Store

  /// The operations with their secrets: those that are kept, and over them those of a change that is only on its way.
  /// Throws `RemoteError`, with nothing sent, when there are secrets and the way to the server can be read by others.
  func attached(
    to operations: [Operation], and written: [SecretKey: String] = [:], isConfidential: Bool
  ) throws -> [Operation] {
    guard Self.areKept(by: store.catalog) else { return operations }
    return try operations.map { operation in
      guard operation.kind != .delete else { return operation }
      var secrets = try Self.secrets(of: operation.record, in: store)
      for (key, secret) in written where key.record == operation.record { secrets.values[key.field] = secret }
      guard !secrets.isEmpty else { return operation }
      guard isConfidential else {
        throw RemoteError(
          .rejected,
          "\(operation.record) has sensitive fields, and this server, or the way to it, is no place for them.",
          code: "insecureAddress")
      }
      var operation = operation
      operation.secrets = secrets
      return operation
    }
  }

  /// Whether any type has sensitive fields.
  private static func areKept(by catalog: Catalog) -> Bool {
    catalog.tables.contains { !$0.sensitivePositions.isEmpty }
  }

  static func secrets(of record: RecordID, in store: Store) throws -> Secrets {
    guard let table = store.catalog.tableIfKnown(record.type) else { return Secrets() }
    return try secrets(of: record, table, store.secrets)
  }

  static func secrets(of record: RecordID, _ table: TypeTable, _ secrets: (any SecretStore)?) throws
    -> Secrets
  {
    var found = Secrets()
    guard let secrets else { return found }
    for position in table.sensitivePositions {
      let field = table.schema.fields[position].name
      found.values[field] = try secrets.secret(SecretKey(record, field: field))
    }
    return found
  }

  /// Removes secrets for which no change is pending. In a write transaction, so that none that is just being written
  /// is taken for one.
  static func sweep(in transaction: WriteTransaction) throws {
    guard let secrets = transaction.secretStore, areKept(by: transaction.catalog) else { return }
    for key in try secrets.keys() where try Outbox.mark(key.record, in: transaction) == nil {
      try secrets.remove(key)
    }
  }
}
