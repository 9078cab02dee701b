import BothyStore

/// The secrets of pending changes. They are added to operations when these are sent, and forgotten once no change waits
/// for them. The outbox never stores them.
struct SecretAttachment {
  let store: LocalStore

  /// Returns the operations with the stored secrets, and over them those of a change that is being written. Throws
  /// `RemoteError`, with nothing sent, if secrets exist and others can read the connection to the server.
  func attached(
    to operations: [SyncOperation], and written: [SecretKey: String] = [:], isConfidential: Bool
  ) throws -> [SyncOperation] {
    let stored = try Self.found(operations, store.catalog, store.secrets) { operation in
      try store.read { try Self.isLast(operation, in: $0) }
    }
    let found = Self.separated(operations, with: stored, and: written, isConfidential: isConfidential)
    if let withheld = found.withheld.first, case .rejected(let rejection) = withheld.verdict {
      throw RemoteError(.rejected, rejection.message, code: rejection.code)
    }
    return found.operations
  }

  /// Returns the operations with their secrets. Leaves out those whose secrets others could read on the way, with all
  /// of their transactions. These count as rejected with the code `insecureAddress`.
  ///
  /// - Parameter stored: the secrets by the ids of the operations.
  static func separated(
    _ operations: [SyncOperation], with stored: [String: Secrets], and written: [SecretKey: String] = [:],
    isConfidential: Bool
  ) -> (operations: [SyncOperation], withheld: [Outcome]) {
    if stored.isEmpty && written.isEmpty { return (operations, []) }
    let attached = operations.map { operation in
      guard operation.kind != .delete else { return operation }
      var operation = operation
      if let secrets = stored[operation.id] { operation.secrets = secrets }
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
              "\(operation.record) has sensitive fields, or was written together with one that has, and "
              + "this server, or the way to it, isn't safe for them. Use https, and a server that takes them."
          )))
    }
    return (attached.filter { !isWithheld($0) }, withheld)
  }

  /// True if no change is stacked on an operation. Secrets are stored for a record and not for a change, so they are
  /// sent with its last operation, and with no transaction before theirs.
  private static func isLast(_ operation: SyncOperation, in transaction: ReadTransaction) throws -> Bool {
    let last = try OutboxQueue.last(of: operation.record, in: transaction)
    return last.map { $0.operationID == operation.id } ?? true
  }

  /// Returns the secrets that a push sends, by the ids of its operations, as the committed changes have them. Runs in
  /// the transaction that makes the operations, so that no write of a secret is under way.
  static func secrets(
    of operations: [SyncOperation], in transaction: WriteTransaction
  ) throws -> [String: Secrets] {
    let find = {
      try found(operations, transaction.catalog, transaction.secretStore) {
        try isLast($0, in: transaction)
      }
    }
    if try find().isEmpty { return [:] }
    // A process that ended before its commit has left a secret that doesn't count.
    try recover(in: transaction)
    return try find()
  }

  private static func found(
    _ operations: [SyncOperation], _ catalog: Catalog, _ secrets: (any SecretStore)?,
    isLast: (SyncOperation) throws -> Bool
  ) throws -> [String: Secrets] {
    guard catalog.keepsSecrets else { return [:] }
    var found: [String: Secrets] = [:]
    for operation in operations where operation.kind != .delete {
      guard let table = catalog.tableIfKnown(operation.record.type) else { continue }
      let stored = try Self.secrets(of: operation.record, table, secrets)
      if try !stored.isEmpty && isLast(operation) { found[operation.id] = stored }
    }
    return found
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

  /// The key of a flag in the file, set when a migration has moved values to the secret store that wait to be sent.
  static let movedKey = "movedSecrets"

  /// Makes a pending update of each record whose values a migration has moved, so that the next push carries them.
  static func sendMoved(in transaction: WriteTransaction, clock: SyncClock) throws {
    guard try SyncValues.value(movedKey, in: transaction) != nil else { return }
    for key in try transaction.secretStore?.keys() ?? [] {
      try OutboxQueue(clock: clock).touch(key.record, in: transaction)
    }
    try SyncValues.remove(movedKey, in: transaction)
  }

  /// Ends the writes of secrets whose process ended before they did.
  static func recover(in transaction: WriteTransaction) throws {
    guard let secrets = transaction.secretStore, transaction.catalog.keepsSecrets else { return }
    try SecretReplacement.recover(secrets, in: transaction.database)
  }

  /// Removes the secrets of records without pending changes after an exchange. Changes in a damaged file that was set
  /// aside need theirs when it is salvaged, so beside one only the secrets of the sent operations are removed.
  func sweep(after operations: [SyncOperation], in transaction: WriteTransaction) throws {
    let sent = store.damagedFiles.isEmpty ? nil : Set(operations.map(\.record))
    try Self.sweep(only: sent, in: transaction)
  }

  /// Removes the secrets of records without pending changes. Runs in a write transaction, so that a secret that is
  /// being written stays.
  ///
  /// - Parameter records: the records whose secrets are removed, or `nil` for all.
  static func sweep(only records: Set<RecordID>? = nil, in transaction: WriteTransaction) throws {
    guard let secrets = transaction.secretStore, transaction.catalog.keepsSecrets else { return }
    try recover(in: transaction)
    for key in try secrets.keys()
    where try records?.contains(key.record) ?? true && OutboxQueue.mark(key.record, in: transaction) == nil
      && OutboxQueue.doubt(about: key.record, in: transaction) == nil
    {
      try secrets.remove(key)
    }
  }
}
