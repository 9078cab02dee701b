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

  /// Returns a hold of nothing for the user. Its last reference returns what it has taken to the budget.
  func hold(for user: String) -> Hold { Hold(self, user) }

  /// Takes `amount`, or returns false.
  ///
  /// - Parameter isWhole: true if the amount fits beyond a share when its user holds nothing, and beyond the budget when
  ///   no user holds anything.
  private func take(_ amount: Int, for user: String, isWhole: Bool) -> Bool {
    state.withLock { state in
      let held = state.held[user] ?? 0
      let (isFirst, isAlone) = (isWhole && held == 0, isWhole && state.used == 0)
      guard amount <= total - state.used || isAlone, amount <= share - held || isFirst else { return false }
      state.used += amount
      if amount > 0 { state.held[user] = held + amount }
      return true
    }
  }

  private func release(_ amount: Int, for user: String) {
    state.withLock { state in
      state.used -= amount
      guard let held = state.held[user] else { return }
      state.held[user] = held > amount ? held - amount : nil
    }
  }

  /// A part of the budget, until its last reference is gone.
  final class Hold: Sendable {
    private let budget: SharedBudget
    private let user: String
    private let amount = Mutex(0)

    fileprivate init(_ budget: SharedBudget, _ user: String) {
      self.budget = budget
      self.user = user
    }

    /// Takes `more` of the budget. Returns false, and takes nothing, if the budget or the user's share has no room.
    func grow(by more: Int) -> Bool { take(more, isWhole: false) }

    /// Takes the size of something that can't come in parts. It fits in any case if no user holds anything, so that each
    /// has its turn. Within the budget it fits beyond the user's share if the user holds nothing.
    func takeWhole(_ size: Int) -> Bool { take(size, isWhole: true) }

    private func take(_ more: Int, isWhole: Bool) -> Bool {
      guard budget.take(more, for: user, isWhole: isWhole) else { return false }
      amount.withLock { $0 += more }
      return true
    }

    deinit {
      let amount = amount.withLock { $0 }
      if amount > 0 { budget.release(amount, for: user) }
    }
  }
}
