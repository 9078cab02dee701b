internal import Synchronization

/// Detects that entries changed during a load or a look-up. Its result, of before the change, is then not stored.
///
/// Work takes a ticket when it begins. A change is a tick of the same counter. For loads, removals are changes. For
/// look-ups and confirmations that wait, replacements are.
final class InvalidationTracker: Sendable {
  struct Ticket: Sendable, Hashable { fileprivate var tick: UInt64 }

  private struct State {
    var tick: UInt64 = 0
    var removedAll: UInt64 = 0
    var removedSources: [SourceID: UInt64] = [:]
    /// The ticks of changed keys, kept only while an older ticket exists.
    var changedKeys: [ResourceKey: UInt64] = [:]
    var tickets: [UInt64: Int] = [:]
  }

  private let state = Mutex(State())

  func begin() -> Ticket {
    state.withLock { state in
      state.tickets[state.tick, default: 0] += 1
      return Ticket(tick: state.tick)
    }
  }

  /// Returns a ticket. Call it exactly once for each ticket.
  func end(_ ticket: Ticket) {
    state.withLock { state in
      guard let count = state.tickets[ticket.tick] else { return }
      state.tickets[ticket.tick] = count > 1 ? count - 1 : nil
      if state.changedKeys.isEmpty { return }
      let oldest = state.tickets.keys.min() ?? .max
      state.changedKeys = state.changedKeys.filter { $0.value > oldest }
    }
  }

  /// True if neither the key, nor its source, nor everything was changed since the ticket.
  func isCurrent(_ ticket: Ticket, _ key: ResourceKey) -> Bool {
    state.withLock { state in
      ticket.tick >= state.removedAll && ticket.tick >= state.removedSources[key.source] ?? 0
        && ticket.tick >= state.changedKeys[key] ?? 0
    }
  }

  func note(_ keys: [ResourceKey]) {
    state.withLock { state in
      state.tick += 1
      if state.tickets.isEmpty { return }
      for key in keys { state.changedKeys[key] = state.tick }
    }
  }

  func removeAll(_ source: SourceID?) {
    state.withLock { state in
      state.tick += 1
      if let source { state.removedSources[source] = state.tick } else { state.removedAll = state.tick }
    }
  }
}
