extension WriteRule {
  /// Returns a decision for each write that can be carried out. A failure of the rule, and a decision that doesn't fit,
  /// become `.undecided`. Throws `CancellationError` if the task is cancelled, and no other error.
  package func checkedDecisions(on proposal: WriteProposal) async throws -> [WriteDecision] {
    func undecided(_ reason: String) -> [WriteDecision] { proposal.writes.map { _ in .undecided(reason) } }
    let decisions: [WriteDecision]
    do {
      decisions = try await self.decisions(on: proposal)
    } catch {
      try Task.checkCancellation()
      return undecided("\(error)")
    }
    guard decisions.count == proposal.writes.count else {
      return undecided("\(proposal.writes.count) writes have \(decisions.count) decisions")
    }
    return zip(decisions, proposal.writes).map { decision, write in
      decision.problem(with: write).map { .undecided($0) } ?? decision
    }
  }
}
