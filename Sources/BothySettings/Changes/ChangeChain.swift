/// The states of one group in the order in which they were stored, and the changes that listeners have not received
/// yet.
///
/// Each change's `old` is the `new` of the change before it. A commit is added while its transaction runs, so the order
/// is that of the transactions. Listeners receive the change when its `didUpdate` has returned, and no later change
/// overtakes it. The type is pure.
struct ChangeChain<Group: SettingsGroup> {
  struct Link {
    /// Greater in each later link.
    var number: Int
    var state: SettingsState
    var value: Group
  }

  private struct Pending {
    let number: Int
    let change: SettingsChange<Group>
    /// The last link of the chain before this one, or nil once the commit is known to be durable.
    var previous: Link?
    var isDone = false
  }

  let shape: GroupLayout
  private(set) var last: Link?
  private var pending: [Pending] = []
  private var nextNumber = 0

  init(_ shape: GroupLayout) { self.shape = shape }

  /// The number of the last link, or 0 without one.
  var number: Int { last?.number ?? 0 }

  /// The number of the last link if its state is in the file, and nil if its commit may still fail.
  var storedNumber: Int? { pending.contains { $0.previous != nil } ? nil : number }

  /// Forgets the last state.
  mutating func forget() { last = nil }

  /// Notes that the store was opened again. The file may be another one, whose generations restart at one.
  mutating func beginFile() { last?.state.generation = .min }

  /// Adds a state that was read from the store. Returns nil if the chain has a later state already.
  ///
  /// `isInWrite` is true if the state was read inside a write, when a newer state can't exist. A commit of this process
  /// that is not known to be durable, and that differs from the state, has then failed.
  ///
  /// `number` is that of the last link when the read began, if another read may have ended meanwhile. A record changes
  /// without a new generation, so the state may then be the older one. A commit after it is reported in any case.
  ///
  /// `stored` is `storedNumber` when the read began. If the last link is still that one, a lower generation isn't of an
  /// older state: the row was removed, and generations restart at one.
  mutating func see(
    _ state: SettingsState, _ value: Group, isInWrite: Bool, since number: Int? = nil, stored: Int? = nil
  ) -> Link? {
    if isInWrite, let open = pending.last, open.previous != nil, let last, last.number == open.number,
      last.state != state
    {
      undo(open.number)
    }
    guard let last else { return append(state, value) }
    if !isInWrite && state.generation < last.state.generation && last.number != stored { return nil }
    if state == last.state { return last }
    if let number, number != last.number, state.generation == last.state.generation { return nil }
    let positions = shape.changes(from: last.state.values, to: state.values)
    let link = append(state, value)
    guard !positions.isEmpty else { return link }
    let origin: SettingsChange<Group>.Origin =
      if state.generation == last.state.generation { .record } else if state.writer == WriterID.ofThisProcess
      {
        .thisProcess
      } else { .otherProcess }
    let change = SettingsChange(
      old: last.value, new: value, changedKeys: shape.names(positions), origin: origin)
    pending.append(Pending(number: link.number, change: change, isDone: true))
    return link
  }

  /// Adds a commit that is about to become durable.
  mutating func propose(_ state: SettingsState, _ value: Group) -> Link? {
    guard let last else { return nil }
    let positions = shape.changes(from: last.state.values, to: state.values)
    let link = append(state, value)
    let change = SettingsChange(
      old: last.value, new: value, changedKeys: shape.names(positions), origin: .thisProcess)
    pending.append(Pending(number: link.number, change: change, previous: last))
    return link
  }

  /// Marks a commit as durable.
  mutating func confirm(_ number: Int) {
    for index in pending.indices where pending[index].number == number { pending[index].previous = nil }
  }

  /// Removes a commit that failed.
  mutating func undo(_ number: Int) {
    guard let index = pending.firstIndex(where: { $0.number == number }),
      let previous = pending[index].previous
    else { return }
    pending.remove(at: index)
    if last?.number == number { last = previous }
  }

  /// Marks a commit as finished: its `didUpdate` has returned, so its change may be delivered.
  mutating func finish(_ number: Int) {
    for index in pending.indices where pending[index].number == number { pending[index].isDone = true }
  }

  /// Removes and returns the changes that may be delivered now, in order.
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
