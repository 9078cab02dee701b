import BothyStore

/// Writes that the team's rule decides before they are applied.
extension SyncService {
  /// The result of a try to write.
  enum WriteAttempt<Result: Sendable>: Sendable {
    case done(Result)
    /// Nothing was written, because the rule has to be asked about these first.
    case undecided([ProposedWrite])
  }

  /// Runs a write, after the rule has decided the operations in it. Without a rule or operations, it is one
  /// transaction.
  ///
  /// The rule is asked between transactions, so no lock waits for it: `preview` reads the writes that are due, the rule
  /// decides these, and `write` applies the decisions. A decision is valid for the record and result that it was made
  /// on. If these have changed, `write` ends without a change, and the rule is asked again. That is the case for amended
  /// changes with others on top, and for changes of others in between. Operations that have no decision after the last
  /// time wait, so each request makes progress.
  ///
  /// - Parameters:
  ///   - now: the time of the request, which all tries share.
  ///   - preview: returns the writes to decide, from a snapshot.
  func deciding<Result: Sendable>(
    _ operations: [SyncOperation], _ space: String, _ user: Caller, at now: Int64,
    preview: @escaping @Sendable (any ServerSnapshot, WriteDecisions) throws -> [ProposedWrite],
    write: @escaping @Sendable (any ServerTransaction, WriteDecisions?) throws -> WriteAttempt<Result>
  ) async throws -> Result {
    var decisions = rules.writeRule == nil || operations.isEmpty ? nil : WriteDecisions()
    var open: [ProposedWrite] = []
    if let none = decisions { open = try await storage.read(space: space) { try preview($0, none) } }
    var round = 0
    while true {
      round += 1
      if !open.isEmpty {
        let proposal = WriteProposal(space: space, user: user, time: now, writes: open)
        decisions?.add(try await answers(to: proposal), on: open)
        try await keepBlobs(namedIn: decisions?.amendedFields ?? [], in: space)
      }
      decisions?.isFinal = round >= FixedLimits.decisionRounds
      let known = decisions
      switch try await writing(to: space, { try write($0, known) }) {
      case .done(let result): return result
      case .undecided(let writes): open = writes
      }
    }
  }

  /// Runs a write. If it needs notes of unique values that are far behind, these are completed before it, in short
  /// transactions of their own.
  private func writing<Result: Sendable>(
    to space: String, _ body: @escaping @Sendable (any ServerTransaction) throws -> Result
  ) async throws -> Result {
    while true {
      do { return try await storage.write(space: space, body) } catch let behind as UniqueNotesBehind {
        while try await !storage.write(space: space, { try behind.fields.completeStep(in: $0) }) {}
      }
    }
  }

  /// Returns the rule's decisions. Throws `WriteRuleUnavailable` if one is missing, unless such writes are accepted.
  private func answers(to proposal: WriteProposal) async throws -> [WriteDecision] {
    guard let rule = rules.writeRule else { return proposal.writes.map { _ in .accept } }
    let decisions = try await rule.checkedDecisions(on: proposal)
    guard let outage = decisions.lazy.compactMap(\.outage).first else { return decisions }
    guard rules.acceptsUndecided else { throw WriteRuleUnavailable(outage) }
    return decisions.map { $0.outage == nil ? $0 : .accept }
  }
}
