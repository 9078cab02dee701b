import Synchronization

/// What became of one record in one commit.
public struct RecordEvent: Sendable, Hashable {
  /// What became of the record over the whole transaction. One that was made and removed in it has no event.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// It was not there before.
    case inserted
    /// It was there before and is there now; also when it was removed and made again.
    case updated
    /// It is there no longer.
    case removed
  }

  /// What brought it about.
  public enum Source: String, Sendable, Hashable, CaseIterable {
    /// The app, on this device.
    case local
    /// A change that the server told of.
    case remote
    /// The server's answer to a change of this device's: a merge, an undone change, fields that the server filled in.
    case sync
  }

  /// Which record.
  public var record: RecordID
  /// What became of it.
  public var kind: Kind
  /// What brought it about; what came first, where several did in one transaction.
  public var source: Source

  /// An event as `Store.events` gives it, for tests of one's own listeners.
  public init(_ record: RecordID, _ kind: Kind, by source: Source) {
    self.record = record
    self.kind = kind
    self.source = source
  }
}

/// Gathers what a transaction does to each record, while somebody listens.
struct EventLog {
  private struct Span {
    var first: RecordEvent
    var last: RecordEvent.Kind
  }

  private var spans: [RecordID: Span] = [:]
  private var order: [RecordID] = []

  mutating func note(_ event: RecordEvent) {
    if spans[event.record] == nil {
      order.append(event.record)
      spans[event.record] = Span(first: event, last: event.kind)
    } else {
      spans[event.record]?.last = event.kind
    }
  }

  /// One event a record: what was made and removed again is none, what was removed and made again is an update.
  var events: [RecordEvent] {
    order.compactMap { id in
      guard let span = spans[id] else { return nil }
      // What came first in the transaction brought it about.
      var event = span.first
      switch (event.kind, span.last) {
      case (.inserted, .removed): return nil
      case (.inserted, _): event.kind = .inserted
      case (_, .removed): event.kind = .removed
      case (_, _): event.kind = .updated
      }
      return event
    }
  }
}

/// Hands the events of each commit to whoever listens.
final class EventHub: Sendable {
  private struct State {
    var listeners: [Int: AsyncStream<[RecordEvent]>.Continuation] = [:]
    var nextID = 0
  }

  private let state = Mutex(State())

  var isHeard: Bool { state.withLock { !$0.listeners.isEmpty } }

  func send(_ events: [RecordEvent]) {
    guard !events.isEmpty else { return }
    for listener in state.withLock({ Array($0.listeners.values) }) { listener.yield(events) }
  }

  func stream() -> AsyncStream<[RecordEvent]> {
    AsyncStream { continuation in
      let id = state.withLock { state in
        state.nextID += 1
        state.listeners[state.nextID] = continuation
        return state.nextID
      }
      continuation.onTermination = { [weak self] _ in
        self?.state.withLock { _ = $0.listeners.removeValue(forKey: id) }
      }
    }
  }

  func finish() {
    for listener in state.withLock({ Array($0.listeners.values) }) { listener.finish() }
  }
}

extension Store {
  /// What each commit of this store does to which record, and what brought it about: one array a commit, from this call
  /// on. Commits of other processes are not among them; `commits` tells of those.
  ///
  /// While somebody listens each write costs a note, and a write from the server one look-up more. A listener that is
  /// slow is given everything later, so take what comes or cancel. Ends when the store is closed.
  public var events: AsyncStream<[RecordEvent]> { eventHub.stream() }
}
