import Synchronization

/// So much of something for all requests together, and so much of it for one principal.
final class SharedBudget: Sendable {
  private let total: Int
  private let share: Int
  private let state = Mutex(State())

  private struct State {
    var used = 0
    /// What each principal holds; those who hold nothing are not in it.
    var held: [String: Int] = [:]
  }

  /// - Parameter share: what one principal may hold of `total`.
  init(_ total: Int, share: Int) {
    self.total = max(0, total)
    self.share = max(0, min(share, total))
  }

  /// Takes so much, or returns false. What was taken is given back by `release`.
  func take(_ amount: Int, for principal: String) -> Bool {
    state.withLock { state in
      let held = state.held[principal] ?? 0
      guard amount <= total - state.used, amount <= share - held else { return false }
      state.used += amount
      if amount > 0 { state.held[principal] = held + amount }
      return true
    }
  }

  /// Gives back what `take` took for the principal.
  func release(_ amount: Int, for principal: String) {
    state.withLock { state in
      state.used -= amount
      guard let held = state.held[principal] else { return }
      state.held[principal] = held > amount ? held - amount : nil
    }
  }
}
