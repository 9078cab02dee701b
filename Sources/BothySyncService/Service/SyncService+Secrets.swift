import BothyStore

/// The values of sensitive fields, which are stored apart from the records.
extension SyncService {
  /// Passes on the secrets of applied operations before the transaction ends. If that fails, the device sends
  /// everything again.
  func receiveSecrets(of request: SyncRequest, _ outcomes: [Outcome], _ space: String) throws {
    guard let receive = rules.receiveSecrets, request.operations.contains(where: { !$0.secrets.isEmpty })
    else {
      return
    }
    let operations = Dictionary(request.operations.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
    for outcome in outcomes {
      guard let operation = operations[outcome.operation], !operation.secrets.isEmpty else { continue }
      // A repetition is skipped, because its secrets came with the first sending.
      if case .applied = outcome.verdict { try receive(space, operation.record, operation.secrets) }
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

  /// Deletes the secrets of the deleted records among these. Takes the space's lock only if there are any.
  func sweepSecrets(_ held: [RecordID], in space: String) async throws {
    guard let vault = rules.secretVault, !held.isEmpty else { return }
    let gone = try await storage.read(space: space) { storage in
      let known = try storage.records(held)
      return held.filter { known[$0]?.record.isDeleted ?? true }
    }
    if !gone.isEmpty { try await sweep(gone, vault, space) }
  }

  private func sweep(_ held: [RecordID], _ vault: any SecretVault, _ space: String) async throws {
    try await storage.write(space: space) { storage in
      let known = try storage.records(held)
      for record in held where known[record]?.record.isDeleted ?? true {
        try vault.remove(space: space, record)
      }
    }
  }
}

extension SyncRequest {
  /// Returns the records that were deleted according to the outcomes.
  func deleted(_ outcomes: [Outcome]) -> [RecordID] {
    let records = Dictionary(
      operations.filter { $0.kind == .delete }.map { ($0.id, $0.record) }, uniquingKeysWith: { $1 })
    return outcomes.compactMap { $0.verdict.isApplied ? records[$0.operation] : nil }
  }
}
