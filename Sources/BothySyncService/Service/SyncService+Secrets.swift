import BothyProtocol
import BothyStore

/// The values of sensitive fields, which are stored apart from the records.
extension SyncService {
  /// Stages the secrets of a request while `body` runs, if the rules have a storage for that. Staging and its end block
  /// no thread of tasks, and are outside of the transaction.
  func withStagedSecrets<Result: Sendable>(
    of request: SyncRequest, in space: String, _ user: Caller,
    _ body: ((any StagedSecrets)?) async throws -> Result
  ) async throws -> Result {
    guard let staged = try await stagedSecrets(of: request, in: space, user) else {
      return try await body(nil)
    }
    do {
      let result = try await body(staged)
      try? await FileWork.run { staged.finish() }  // throws nothing
      return result
    } catch {
      // The transaction may be committed all the same. If the storage can't be asked now, `recoverSecrets` asks it.
      try? await settle([staged])
      throw error
    }
  }

  /// Settles what ended processes have left of requests: what was committed stays, and the rest is undone. Costs a
  /// look at a folder, and two transactions for each request that was cut short. Call it before the first request.
  ///
  /// Throws the first error of the storage. What is left then is settled by a later call.
  package func recoverSecrets() async throws {
    guard let staging = rules.secretStaging else { return }
    try await settle(try await FileWork.run { try staging.abandoned() })
  }

  /// Undoes what was not committed, the newest first, and then completes what was, the oldest first. Holds the lock of
  /// each space meanwhile. So no transaction in doubt is still running.
  private func settle(_ left: [any StagedSecrets]) async throws {
    var undone: [any StagedSecrets] = []
    var failure: (any Error)?
    for staged in left {
      do {
        if !staged.kept.isEmpty {
          try await storage.write(space: staged.space) { storage in
            try staged.undo(except: Self.applied(staged, storage))
          }
        }
        undone.append(staged)
      } catch { failure = failure ?? error }
    }
    for staged in undone.reversed() {
      do {
        if !staged.kept.isEmpty {
          try await storage.write(space: staged.space) { storage in
            let live = try storage.records(staged.records).filter { !$0.value.record.isDeleted }
            try staged.complete(Self.applied(staged, storage), live.mapValues(\.position))
          }
        }
        try await FileWork.run { staged.finish() }
      } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
  }

  private static func applied(
    _ staged: any StagedSecrets, _ storage: any ServerSnapshot
  ) throws -> Set<OperationKey> {
    Set(try storage.outcomes(staged.kept).filter(\.value.isApplied).keys)
  }

  private func stagedSecrets(
    of request: SyncRequest, in space: String, _ user: Caller
  ) async throws -> (any StagedSecrets)? {
    guard let storage = rules.secretStaging, rules.receiveSecrets != nil else { return nil }
    let identity = OperationIdentity(request.device, of: user)
    let again = remade(by: request, in: space)
    let secrets = request.operations.compactMap { operation -> OperationSecrets? in
      if rules.unfitSecrets(operation) != nil { return nil }
      var change = OperationSecrets(
        operation: operation.id, outcome: identity.key(operation), record: operation.record,
        operation.secrets)
      change.cleared = rules.clearedSecrets(operation)
      change.removesAll = operation.kind == .delete && again.contains(operation.record)
      return change.secrets.isEmpty && change.cleared.isEmpty && !change.removesAll ? nil : change
    }
    if secrets.isEmpty { return nil }
    return try await FileWork.run { try storage.stage(space: space, secrets) }
  }

  /// Returns the records with secrets that the request deletes and then inserts again.
  private func remade(by request: SyncRequest, in space: String) -> Set<RecordID> {
    var (deleted, again, secret) = (Set<RecordID>(), Set<RecordID>(), Set<RecordID>())
    for operation in request.operations {
      if !operation.secrets.isEmpty { secret.insert(operation.record) }
      if operation.kind == .delete { deleted.insert(operation.record) }
      if operation.kind == .insert, deleted.contains(operation.record) { again.insert(operation.record) }
    }
    return again.filter { secret.contains($0) || rules.secretVault?.holds(space: space, $0) ?? false }
  }

  /// Passes on the secrets of applied operations before the transaction ends. If that fails, the device sends
  /// everything again.
  func receiveSecrets(
    of request: SyncRequest, _ outcomes: [Outcome], _ staged: (any StagedSecrets)?, _ space: String,
    upTo head: Int64
  ) throws {
    guard let receive = rules.receiveSecrets else { return }
    // A repetition is skipped, because its secrets came with the first sending.
    let applied = Set(outcomes.lazy.filter(\.verdict.isNewlyApplied).map(\.operation))
    if let staged { return try staged.keep(applied, upTo: head) }
    guard rules.secretStaging == nil else { return }
    let again = remade(by: request, in: space)
    for operation in request.operations where applied.contains(operation.id) {
      if operation.kind == .delete, again.contains(operation.record) {
        try rules.secretVault?.remove(space: space, operation.record)
      }
      if !operation.secrets.isEmpty { try receive(space, operation.record, operation.secrets) }
    }
  }

  /// Deletes the secrets that a single operation has cleared, unless the record has changed again since. A failure
  /// leaves them.
  func removeCleared(by operation: SyncOperation, _ verdict: Outcome.Verdict, in space: String) async {
    let fields = rules.clearedSecrets(operation)
    guard let staging = rules.secretStaging, !fields.isEmpty, case .applied(let version, _, _) = verdict
    else { return }
    let record = operation.record
    // The operation is applied, and the caller can clear the field again.
    try? await storage.write(space: space) { storage in
      guard try storage.records([record])[record]?.record.version == version else { return }
      try staging.remove(space: space, record, fields: fields)
    }
  }

  /// Deletes the secrets of deleted records among these. Holds the space's lock, so that the secret of a new record
  /// isn't taken for one of the old. A failure is corrected by `upkeep`.
  func removeSecrets(of records: [RecordID], in space: String) async {
    guard let vault = rules.secretVault else { return }
    let held = records.filter { vault.holds(space: space, $0) }
    guard !held.isEmpty else { return }
    try? await sweep(held, vault, space)  // the next upkeep does it
  }

  /// The most records of which a sweep deletes secrets under one lock of the space.
  private static let sweepPiece = 500

  /// Deletes the secrets of the deleted records among these. Takes the space's lock only if there are any. Has few of
  /// the records in memory.
  func sweepSecrets(_ held: [RecordID], in space: String) async throws {
    guard let vault = rules.secretVault else { return }
    for first in stride(from: 0, to: held.count, by: Self.sweepPiece) {
      let some = Array(held[first..<min(first + Self.sweepPiece, held.count)])
      let gone = try await storage.read(space: space) { try Self.gone(some, in: $0) }
      if !gone.isEmpty { try await sweep(gone, vault, space) }
    }
  }

  private func sweep(_ held: [RecordID], _ vault: any SecretVault, _ space: String) async throws {
    try await storage.write(space: space) { storage in
      for record in try Self.gone(held, in: storage) { try vault.remove(space: space, record) }
    }
  }

  /// Returns the deleted and missing ones among records.
  private static func gone(
    _ held: [RecordID], in storage: any ServerSnapshot
  ) throws -> [RecordID] {
    var gone: [RecordID] = []
    try storage.forEachRecord(of: held) { id, entry in
      if entry?.record.isDeleted ?? true { gone.append(id) }
    }
    return gone
  }
}

extension AccessRules {
  /// Returns the sensitive fields whose values an update clears.
  func clearedSecrets(_ operation: SyncOperation) -> [String] {
    guard operation.kind == .update, let declared = schema?[operation.record.type] else { return [] }
    return declared.fields.filter { field in
      field.isSensitive && operation.fields[field.name]?.isNull ?? false
        && operation.secrets.values[field.name] == nil
    }.map(\.name)
  }
}

extension Outcome.Verdict {
  fileprivate var isNewlyApplied: Bool { if case .applied = self { true } else { false } }
}

extension SyncRequest {
  /// Returns the records that were deleted according to the outcomes.
  func deleted(_ outcomes: [Outcome]) -> [RecordID] {
    let records = Dictionary(
      operations.filter { $0.kind == .delete }.map { ($0.id, $0.record) }, uniquingKeysWith: { $1 })
    return outcomes.compactMap { $0.verdict.isApplied ? records[$0.operation] : nil }
  }
}
