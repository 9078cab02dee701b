import BothyStore

/// The secrets of pending changes: put into operations when they are sent, forgotten when nothing waits for them any
/// more. They are never part of what the outbox stores.
struct SecretWork {
  let store: Store

  /// The operations with their secrets: those that are kept, and over them those of a change that is only on its way.
  /// Throws `RemoteError`, with nothing sent, when there are secrets and the way to the server can be read by others.
  func attached(
    to operations: [SyncOperation], and written: [SecretKey: String] = [:], isConfidential: Bool
  ) throws -> [SyncOperation] {
    let found = try separated(operations, and: written, isConfidential: isConfidential)
    if let withheld = found.withheld.first, case .rejected(let rejection) = withheld.verdict {
      throw RemoteError(.rejected, rejection.message, code: rejection.code)
    }
    return found.operations
  }

  /// The operations with their secrets. Those whose secrets others could read on the way are left out, with all of their
  /// together-writes, and count as refused with the code `insecureAddress`.
  func separated(
    _ operations: [SyncOperation], and written: [SecretKey: String] = [:], isConfidential: Bool
  ) throws -> (operations: [SyncOperation], withheld: [Outcome]) {
    guard Self.areKept(by: store.catalog) else { return (operations, []) }
    let attached = try operations.map { operation in
      guard operation.kind != .delete else { return operation }
      var operation = operation
      let secrets = try Self.secrets(of: operation.record, in: store)
      if try !secrets.isEmpty && isLast(operation) { operation.secrets = secrets }
      for (key, secret) in written where key.record == operation.record {
        operation.secrets.values[key.field] = secret
      }
      return operation
    }
    guard !isConfidential else { return (attached, []) }
    let groups = Set(attached.compactMap { $0.secrets.isEmpty ? nil : $0.group })
    let isWithheld = { (operation: SyncOperation) in
      !operation.secrets.isEmpty || operation.group.map(groups.contains) ?? false
    }
    let withheld = attached.filter(isWithheld).map { operation in
      Outcome(
        operation: operation.id,
        .rejected(
          Rejection(
            code: "insecureAddress",
            message:
              "\(operation.record) has sensitive fields, or was written together with one that has, and this "
              + "server, or the way to it, is no place for them. Use an address with https, and a server that takes them."
          )))
    }
    return (attached.filter { !isWithheld($0) }, withheld)
  }

  /// Whether nothing lies on top of an operation: secrets are kept for a record and not for a change, so they go with its
  /// last one, and with no transaction before theirs.
  private func isLast(_ operation: SyncOperation) throws -> Bool {
    let last = try store.read { try Outbox.last(of: operation.record, in: $0) }
    return last.map { $0.operationID == operation.id } ?? true
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

  /// True in the file, under this key, when a migration has moved values to the secret store that wait to be sent.
  static let movedKey = "movedSecrets"

  /// Makes a pending update of each record whose values a migration has moved, so that the next push carries them.
  static func sendMoved(in transaction: WriteTransaction, clock: SyncClock) throws {
    guard try SyncValues.value(movedKey, in: transaction) != nil else { return }
    for key in try transaction.secretStore?.keys() ?? [] {
      try Outbox(clock: clock).touch(key.record, in: transaction)
    }
    try SyncValues.remove(movedKey, in: transaction)
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
