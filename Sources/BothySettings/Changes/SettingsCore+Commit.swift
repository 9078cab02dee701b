import BothyStore

/// The depth of commits inside `didUpdate` of other commits.
private enum CommitDepth {
  @TaskLocal static var value = 0
  static let limit = 32
}

/// A commit from beginning to end: closure, `willUpdate`, write, `didUpdate` and event, in that order.
extension SettingsCore {
  /// The result of a transaction.
  private struct Outcome {
    let old: Group
    let new: Group
    /// The number of the link in the chain, or nil if nothing changed.
    let number: Int?
  }

  /// Commits a change. A touch runs the hooks and notifies listeners although nothing changes.
  func update(isTouch: Bool = false, _ change: (inout Group) throws -> Void) throws -> Group {
    let depth = CommitDepth.value
    guard depth < CommitDepth.limit else {
      throw BothyError(
        .recursionLimit,
        "\(shape.name) was committed from didUpdate \(depth) times in a row. Let didUpdate set only values that "
          + "differ.")
    }
    try home.register(Group.self)
    let outcome = try home.withStore { store in
      guard store.runningWrite == nil else {
        throw BothyError(
          .nestedUpdate,
          "\(shape.name) was committed inside another write of its home; that can't wait for itself. Change the value "
            + "at hand, or commit from didUpdate.")
      }
      let outcome = try transact(isTouch, change, keeper(in: store), store)
      follow(store)
      return outcome
    }
    guard let number = outcome.number else { return outcome.new }
    defer { withChain { $0.finish(number) } }
    do {
      try CommitDepth.$value.withValue(depth + 1) {
        try Group.didUpdate(from: outcome.old, to: outcome.new, in: SharedSettings(lending: self))
      }
    } catch {
      throw BothyError(
        .didUpdateFailed, "The change of \(shape.name) is stored; what follows it failed. \(error)",
        underlying: error)
    }
    return outcome.new
  }

  private func transact(
    _ isTouch: Bool, _ change: (inout Group) throws -> Void, _ keeper: SettingsStorage, _ store: LocalStore
  ) throws -> Outcome {
    var proposed: Int?
    var wasStored = true
    let outcome: Outcome
    do {
      outcome = try store.write { transaction in
        let outcome = try run(isTouch, change, keeper, transaction, &wasStored)
        proposed = outcome.number
        return outcome
      }
    } catch {
      if let proposed { withChain { $0.undo(proposed) } }
      if !wasStored { forget() }
      throw error
    }
    if let number = outcome.number {
      // Readers see the value before any listener is notified of it.
      publish(number, outcome.new)
      withChain { $0.confirm(number) }
    }
    return outcome
  }

  /// Runs the part of a commit that is inside the transaction.
  ///
  /// `wasStored` becomes false if the transaction has also stored the defaults, or the group in the form of this version.
  private func run(
    _ isTouch: Bool, _ change: (inout Group) throws -> Void, _ keeper: SettingsStorage,
    _ transaction: WriteTransaction, _ wasStored: inout Bool
  ) throws -> Outcome {
    let found = try keeper.read(transaction)
    wasStored = found != nil
    let stored = try found ?? keeper.settle(transaction)
    let old = try Group(values: stored.values)
    see(stored, old, isInWrite: true)
    var changed = old
    try change(&changed)
    let values = changed.values
    if !isTouch && values == stored.values { return Outcome(old: old, new: old, number: nil) }
    try shape.check(values)
    // The value as other readers will decode it, for example a date without its microseconds.
    var new = try Group(values: values)
    try Group.willUpdate(from: old, to: &new)
    let adjusted = new.values
    if adjusted != values {
      if !isTouch && adjusted == stored.values { return Outcome(old: old, new: old, number: nil) }
      try shape.check(adjusted)
      new = try Group(values: adjusted)
    }
    let state =
      adjusted == stored.values ? stored : try keeper.write(adjusted, over: stored, in: transaction)
    return Outcome(old: old, new: new, number: withChain { $0.propose(state, new) }?.number)
  }
}
