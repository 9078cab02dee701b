import BothyStore
import Synchronization
public import Tracing

/// A span that is written when it ends.
public final class WrittenSpan: Span {
  public let context: ServiceContext
  private let place: TraceParent
  private let parent: String?
  private let kind: SpanKind
  private let start: UInt64
  private let write: @Sendable ([UInt8]) -> Void
  private let state: Mutex<State>

  private struct State: Sendable {
    var name: String
    var attributes = SpanAttributes()
    var status: SpanStatus?
    var events: [(name: String, time: UInt64)] = []
    var hasEnded = false
  }

  init(
    _ name: String, _ context: ServiceContext, _ place: TraceParent, parent: String?, _ kind: SpanKind,
    start: UInt64, write: @escaping @Sendable ([UInt8]) -> Void
  ) {
    self.context = context
    self.place = place
    self.parent = parent
    self.kind = kind
    self.start = start
    self.write = write
    state = Mutex(State(name: name))
  }

  public var operationName: String {
    get { state.withLock { $0.name } }
    set { state.withLock { $0.name = newValue } }
  }

  public var attributes: SpanAttributes {
    get { state.withLock { $0.attributes } }
    set { state.withLock { $0.attributes = newValue } }
  }

  public var isRecording: Bool { place.isSampled && state.withLock { !$0.hasEnded } }

  public func setStatus(_ status: SpanStatus) { state.withLock { $0.status = status } }

  public func addEvent(_ event: SpanEvent) {
    state.withLock { $0.events.append((event.name, event.nanosecondsSinceEpoch)) }
  }

  public func recordError<Instant: TracerInstant>(
    _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
  ) {
    // Only the type of the error, because its text may have parts of records.
    let (name, time) = ("\(type(of: error))", instant().nanosecondsSinceEpoch)
    state.withLock { state in
      state.events.append(("exception \(name)", time))
      state.status = SpanStatus(code: .error)
    }
  }

  public func addLink(_ link: SpanLink) {}

  public func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
    let end = instant().nanosecondsSinceEpoch
    let state: State? = state.withLock { state in
      guard !state.hasEnded else { return nil }
      state.hasEnded = true
      return state
    }
    guard let state, place.isSampled else { return }
    write(json(state, end))
  }

  private func json(_ state: State, _ end: UInt64) -> [UInt8] {
    var attributes: [(String, SpanAttribute)] = []
    state.attributes.forEach { attributes.append(($0, $1)) }
    var writer = JSONWriter(reserving: 512)
    writer.object { writer in
      writer.member("traceId", place.trace)
      writer.member("spanId", place.span)
      if let parent { writer.member("parentSpanId", parent) }
      writer.member("name", state.name)
      writer.member("kind", Self.number(kind))
      writer.member("startTimeUnixNano", String(start))
      writer.member("endTimeUnixNano", String(end))
      writer.list("attributes", attributes) { TraceDocument.write($1.0, $1.1, to: &$0) }
      writer.list("events", state.events) { writer, event in
        writer.member("timeUnixNano", String(event.time))
        writer.member("name", event.name)
      }
      writer.object("status") { $0.member("code", state.status.map { $0.code == .ok ? 1 : 2 } ?? 0) }
    }
    return writer.bytes
  }

  /// Returns OpenTelemetry's number of the kind.
  private static func number(_ kind: SpanKind) -> Int {
    switch kind {
    case .internal: 1
    case .server: 2
    case .client: 3
    case .producer: 4
    case .consumer: 5
    }
  }
}
