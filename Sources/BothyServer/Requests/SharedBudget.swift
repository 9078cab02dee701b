import Synchronization

/// A budget for all requests together, of which one user can take only a share.
final class SharedBudget: Sendable {
  private let total: Int
  private let share: Int
  private let state = Mutex(State())

  private struct State {
    var used = 0
    /// The amount that each user holds. Users that hold nothing have no entry.
    var held: [String: Int] = [:]
  }

  /// - Parameter share: the most of `total` that one user may hold.
  init(_ total: Int, share: Int) {
    self.total = max(0, total)
    self.share = max(0, min(share, total))
  }

  /// Takes `amount`, or returns false. `release` returns the amount to the budget.
  func take(_ amount: Int, for principal: String) -> Bool {
    state.withLock { state in
      let held = state.held[principal] ?? 0
      guard amount <= total - state.used, amount <= share - held else { return false }
      state.used += amount
      if amount > 0 { state.held[principal] = held + amount }
      return true
    }
  }

  /// Returns an amount that `take` took for the user.
  func release(_ amount: Int, for principal: String) {
    state.withLock { state in
      state.used -= amount
      guard let held = state.held[principal] else { return }
      state.held[principal] = held > amount ? held - amount : nil
    }
  }
}
