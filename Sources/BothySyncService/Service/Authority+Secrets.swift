import BothyStore

/// The values of sensitive fields, which are kept beside the ledger.
extension Authority {
  /// Hands over the secrets of what was applied, before the transaction ends: if that fails, all of it is sent again.
  func receiveSecrets(of request: SyncRequest, _ outcomes: [Outcome], _ space: String) throws {
    guard let receive = rules.receiveSecrets, request.operations.contains(where: { !$0.secrets.isEmpty })
    else {
      return
    }
    let operations = Dictionary(request.operations.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
    for outcome in outcomes {
      guard let operation = operations[outcome.operation], !operation.secrets.isEmpty else { continue }
      // A repetition brings none: what was applied had its secrets with it.
      if case .applied = outcome.verdict { try receive(space, operation.record, operation.secrets) }
    }
  }

  /// Removes the secrets of those of these records that are deleted. Holds the space's lock, so that none that is just
  /// being received for a new record is taken for one of the old. A failure here is made up for by `upkeep`.
  func removeSecrets(of records: [RecordID], in space: String) async {
    guard let vault = rules.secretVault else { return }
    let held = records.filter { vault.holds(space: space, $0) }
    guard !held.isEmpty else { return }
    try? await sweep(held, vault, space)  // the next upkeep does it
  }

  /// The same for all records of the space that secrets are kept of.
  func sweepSecrets(space: String) async throws {
    guard let vault = rules.secretVault, case let held = try vault.records(of: space), !held.isEmpty else {
      return
    }
    try await sweep(held, vault, space)
  }

  private func sweep(_ held: [RecordID], _ vault: any SecretVault, _ space: String) async throws {
    try await ledger.write(space: space) { ledger in
      let known = try ledger.records(held)
      for record in held where known[record]?.record.isDeleted ?? true {
        try vault.remove(space: space, record)
      }
    }
  }
}

extension SyncRequest {
  /// The records that the outcomes say are deleted.
  func deleted(_ outcomes: [Outcome]) -> [RecordID] {
    let records = Dictionary(
      operations.filter { $0.kind == .delete }.map { ($0.id, $0.record) }, uniquingKeysWith: { $1 })
    return outcomes.compactMap { $0.verdict.isApplied ? records[$0.operation] : nil }
  }
}
