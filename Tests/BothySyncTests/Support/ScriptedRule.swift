import BothyStore
import BothySync
import BothySyncService
import Synchronization

/// A rule whose decisions a test scripts. It keeps what it was asked.
final class ScriptedRule: WriteRule {
  /// The failure of a rule.
  struct Broken: Error {}

  private struct State {
    var proposals: [WriteProposal] = []
    var decide: @Sendable (ProposedWrite) throws -> WriteDecision
  }

  private let state: Mutex<State>
  /// Runs in each call before the decisions, with the number of the call.
  private let meanwhile: @Sendable (Int) async throws -> Void

  init(
    _ decide: @escaping @Sendable (ProposedWrite) throws -> WriteDecision = { _ in .accept },
    meanwhile: @escaping @Sendable (Int) async throws -> Void = { _ in }
  ) {
    self.meanwhile = meanwhile
    state = Mutex(State(decide: decide))
  }

  var proposals: [WriteProposal] { state.withLock { $0.proposals } }
  /// The ids of the operations of each call.
  var asked: [[String]] { proposals.map { $0.writes.map(\.operation) } }

  func set(_ decide: @escaping @Sendable (ProposedWrite) throws -> WriteDecision) {
    state.withLock { $0.decide = decide }
  }

  func decisions(on proposal: WriteProposal) async throws -> [WriteDecision] {
    let (number, decide) = state.withLock { state in
      state.proposals.append(proposal)
      return (state.proposals.count, state.decide)
    }
    try await meanwhile(number)
    return try proposal.writes.map(decide)
  }
}

extension AccessRules {
  /// Returns the rules with a rule for writes.
  func with(_ rule: any WriteRule, acceptsUndecided: Bool = false) -> AccessRules {
    var rules = self
    rules.writeRule = rule
    rules.acceptsUndecided = acceptsUndecided
    return rules
  }
}
