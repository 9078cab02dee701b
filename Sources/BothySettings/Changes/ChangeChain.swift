/// The states of one group in the order in which they were stored, and the changes between them that are still to be
/// told. Pure.
///
/// Each change's `old` is the `new` of the one before. A commit is put in while its transaction runs, so the order is
/// that of the transactions; it is told when its `postCommit` is done, and nothing overtakes it.
struct ChangeChain<Group: SettingsGroup> {
  struct Link {
    /// Rises from link to link.
    var number: Int
    var state: SettingsState
    var value: Group
  }

  private struct Pending {
    let number: Int
    let change: SettingsChange<Group>
    /// What the chain ended with before; nil once the commit is known to be durable.
    var previous: Link?
    var isDone = false
  }

  let shape: GroupShape
  private(set) var last: Link?
  private var pending: [Pending] = []
  private var nextNumber = 0

  init(_ shape: GroupShape) { self.shape = shape }

  /// Takes note of what was read from the store. Nil if the chain is past it already.
  ///
  /// `isInWrite` says that it was read inside a write, so that nothing newer can be there: a commit of this process that
  /// is not known to be durable yet, and is not what was read, has failed.
  mutating func see(_ state: SettingsState, _ value: Group, isInWrite: Bool) -> Link? {
    if isInWrite, let open = pending.last, open.previous != nil, let last, last.number == open.number,
      last.state != state
    {
      undo(open.number)
    }
    guard let last else { return append(state, value) }
    if !isInWrite && state.generation < last.state.generation { return nil }
    if state == last.state { return last }
    let positions = shape.changes(from: last.state.values, to: state.values)
    let link = append(state, value)
    guard !positions.isEmpty else { return link }
    let origin: SettingsOrigin =
      if state.generation == last.state.generation { .record } else if state.writer == WriterID.ofThisProcess
      {
        .thisProcess
      } else { .otherProcess }
    let change = SettingsChange(
      old: last.value, new: value, changedKeys: shape.names(positions), origin: origin)
    pending.append(Pending(number: link.number, change: change, isDone: true))
    return link
  }

  /// Puts a commit in that is about to be made durable.
  mutating func propose(_ state: SettingsState, _ value: Group) -> Link? {
    guard let last else { return nil }
    let positions = shape.changes(from: last.state.values, to: state.values)
    let link = append(state, value)
    let change = SettingsChange(
      old: last.value, new: value, changedKeys: shape.names(positions), origin: .thisProcess)
    pending.append(Pending(number: link.number, change: change, previous: last))
    return link
  }

  /// The commit is durable.
  mutating func confirm(_ number: Int) {
    for index in pending.indices where pending[index].number == number { pending[index].previous = nil }
  }

  /// The commit failed.
  mutating func undo(_ number: Int) {
    guard let index = pending.firstIndex(where: { $0.number == number }),
      let previous = pending[index].previous
    else { return }
    pending.remove(at: index)
    if last?.number == number { last = previous }
  }

  /// All that follows the commit is done, so that it may be told.
  mutating func finish(_ number: Int) {
    for index in pending.indices where pending[index].number == number { pending[index].isDone = true }
  }

  /// The changes that may be told now, in order; each once.
  mutating func takeDue() -> [SettingsChange<Group>] {
    let due = pending.prefix { $0.isDone && $0.previous == nil }
    pending.removeFirst(due.count)
    return due.map(\.change)
  }

  private mutating func append(_ state: SettingsState, _ value: Group) -> Link {
    nextNumber += 1
    let link = Link(number: nextNumber, state: state, value: value)
    last = link
    return link
  }
}
