import Synchronization

/// The effect of one commit on one record.
///
/// The `events` of a store have an array of them for each commit of this process.
///
/// ```swift
/// for await changes in store.maintenance.events {
///   for change in changes where !change.isLocal && change.kind == .inserted { show("New: \(change.record)") }
/// }
/// ```
public struct RecordChange: Sendable, Hashable {
  /// The effect of the whole transaction on the record. A record that was inserted and removed in it has no event.
  /// Several changes of a record in one transaction are one event.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// The record was inserted. By the app, or because the server sent it.
    case inserted
    /// The record existed before and still exists. Includes one that was removed and inserted again.
    case updated
    /// The record was removed. Either it was deleted, or this device stopped keeping it.
    case removed
  }

  /// The origin of a change.
  package enum Source: String, Sendable, Hashable, CaseIterable {
    /// The app, on this device.
    case local
    /// A change that the server sent.
    case remote
    /// The server's verdict on a change of this device: a merge, an undone change, fields that the server filled in.
    case sync
  }

  /// The record that changed. The event has no values; fetch the record to read them.
  public var record: RecordID
  /// The effect on the record.
  public var kind: Kind
  /// The origin of the change. The first one, if a transaction had several.
  package var source: Source

  /// True of a change that the app made on this device. False of one that the server sent or decided. If a transaction
  /// has both, its first change of the record counts.
  public var isLocal: Bool { source == .local }

  /// Creates an event like those of `LocalStore.events`, for tests of an app's own listeners.
  package init(_ record: RecordID, _ kind: Kind, by source: Source) {
    self.record = record
    self.kind = kind
    self.source = source
  }
}

/// Collects the effects of a transaction on each record, while a listener exists.
struct EventLog {
  private struct Span {
    var first: RecordChange
    var last: RecordChange.Kind
  }

  private var spans: [RecordID: Span] = [:]
  private var order: [RecordID] = []

  mutating func note(_ event: RecordChange) {
    if spans[event.record] == nil {
      order.append(event.record)
      spans[event.record] = Span(first: event, last: event.kind)
    } else {
      spans[event.record]?.last = event.kind
    }
  }

  /// One event a record. A record inserted and then removed has none. One removed and then inserted again has an
  /// update.
  var events: [RecordChange] {
    order.compactMap { id in
      guard let span = spans[id] else { return nil }
      // The first change in the transaction gives the source.
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

/// Delivers the events of each commit to the listeners.
final class EventHub: Sendable {
  private struct State {
    var listeners: [Int: AsyncStream<[RecordChange]>.Continuation] = [:]
    var nextID = 0
    var isFinished = false
  }

  private let state = Mutex(State())

  var isHeard: Bool { state.withLock { !$0.listeners.isEmpty } }

  func send(_ events: [RecordChange]) {
    guard !events.isEmpty else { return }
    for listener in state.withLock({ Array($0.listeners.values) }) { listener.yield(events) }
  }

  func stream() -> AsyncStream<[RecordChange]> {
    AsyncStream { continuation in
      let id: Int? = state.withLock { state in
        if state.isFinished { return nil }
        state.nextID += 1
        state.listeners[state.nextID] = continuation
        return state.nextID
      }
      guard let id else { return continuation.finish() }
      continuation.onTermination = { [weak self] _ in
        self?.state.withLock { _ = $0.listeners.removeValue(forKey: id) }
      }
    }
  }

  func finish() {
    let listeners = state.withLock { state in
      state.isFinished = true
      return Array(state.listeners.values)
    }
    for listener in listeners { listener.finish() }
  }
}

extension LocalStore {
  /// The effects of each commit of this store on its records, with their origin. Delivers one array a commit, of each
  /// write that begins after this call. Commits of other processes are left out; `commits` reports those.
  ///
  /// A write that is running at the time of this call has none. To continue a state without a gap, take the stream first
  /// and read the state inside a `write` of its own, which waits for such a write.
  ///
  /// While a listener exists, each write costs a note, and a write from the server one more look-up. A slow listener
  /// receives all events later, so consume them or cancel. Ends when the store is closed, and
  /// at once after that.
  ///
  /// Each access makes a stream of its own. It keeps all events until they are consumed, without a limit.
  public var events: AsyncStream<[RecordChange]> { eventHub.stream() }
}
