import BothyStore

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

/// The error of a request with writes that the team's rule couldn't decide. Nothing of the request was written or
/// remembered, and it may be sent again with equal operation ids.
///
/// Over HTTP it is the status 503 with `retryAfter`. `AccessRules.acceptsUndecided` avoids it.
public struct WriteRuleUnavailable: Error, Sendable, Hashable, CustomStringConvertible {
  /// The time after which a client sends the request again, in seconds.
  public static let retryAfter = 5
  /// The reason, for a log.
  ///
  /// It may be the text of any error of the rule, so it isn't sent to clients.
  public var detail: String

  /// - Parameter detail: for a log alone.
  public init(_ detail: String) { self.detail = detail }

  /// A sentence with the detail, for a log.
  public var description: String { "The rule for writes did not decide: \(detail)." }
}
