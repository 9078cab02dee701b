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

    mutating func set(_ old: Int, to new: Int, for user: String) {
      used += new - old
      let sum = (held[user] ?? 0) + new - old
      held[user] = sum > 0 ? sum : nil
    }
  }

  /// - Parameter share: the most of `total` that one user may hold.
  init(_ total: Int, share: Int) {
    self.total = max(0, total)
    self.share = max(0, min(share, total))
  }

  /// Returns a hold of nothing for the user. Its last reference returns what it has taken to the budget.
  func hold(for user: String) -> Hold { Hold(self, user) }

  /// Changes a part from `old` to `new`, or returns false.
  ///
  /// - Parameter isWhole: as that of `room`.
  private func change(_ old: Int, to new: Int, for user: String, isWhole: Bool) -> Bool {
    state.withLock { state in
      guard new <= max(old, room(besides: old, for: user, state, isWhole: isWhole)) else { return false }
      state.set(old, to: new, for: user)
      return true
    }
  }

  /// Makes a part of `old` larger by as much of `more` as there is room for, and returns that.
  private func fill(_ old: Int, by more: Int, for user: String) -> Int {
    state.withLock { state in
      let taken = max(0, min(more, room(besides: old, for: user, state, isWhole: true) - old))
      state.set(old, to: old + taken, for: user)
      return taken
    }
  }

  /// Returns the most that a part of `own` may become.
  ///
  /// - Parameter isWhole: true if the part may be beyond a share when its user holds nothing else, and beyond the budget
  ///   when no user does.
  private func room(besides own: Int, for user: String, _ state: State, isWhole: Bool) -> Int {
    let (used, held) = (state.used - own, (state.held[user] ?? 0) - own)
    let ofAll = isWhole && used == 0 ? Int.max : total - used
    return isWhole && held == 0 ? ofAll : min(ofAll, share - held)
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
    func grow(by more: Int) -> Bool { change(isWhole: false) { $0 + more } }

    /// Makes the part as large as something that can't come in parts. It fits in any case if no user holds anything else,
    /// so that each has its turn. Within the budget it fits beyond the user's share if the user holds nothing else.
    func takeWhole(_ size: Int) -> Bool { change(isWhole: true) { _ in size } }

    /// Takes as much of `more` as there is room for, by the rules of `takeWhole`, and returns that.
    func fill(_ more: Int) -> Int {
      amount.withLock { amount in
        let taken = budget.fill(amount, by: more, for: user)
        amount += taken
        return taken
      }
    }

    private func change(isWhole: Bool, _ size: (Int) -> Int) -> Bool {
      amount.withLock { amount in
        let new = size(amount)
        guard budget.change(amount, to: new, for: user, isWhole: isWhole) else { return false }
        amount = new
        return true
      }
    }

    deinit {
      let amount = amount.withLock { $0 }
      if amount > 0 { _ = budget.change(amount, to: 0, for: user, isWhole: false) }
    }
  }
}
