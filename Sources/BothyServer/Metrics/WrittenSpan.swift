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
    var events: [String] = []
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

  public func addEvent(_ event: SpanEvent) { state.withLock { $0.events.append(event.name) } }

  public func recordError<Instant: TracerInstant>(
    _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
  ) {
    // Only the type of the error, because its text may have parts of records.
    let name = "\(type(of: error))"
    state.withLock { state in
      state.events.append("exception \(name)")
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
    write(line(state, end))
  }

  private func line(_ state: State, _ end: UInt64) -> [UInt8] {
    var writer = JSONWriter(reserving: 512)
    func member(_ name: String, _ text: String) {
      writer.key(name)
      writer.value(text)
    }
    writer.beginObject()
    member("traceId", place.trace)
    member("spanId", place.span)
    if let parent { member("parentSpanId", parent) }
    member("name", state.name)
    writer.key("kind")
    writer.value(Int64(Self.number(kind)))
    member("startTimeUnixNano", String(start))
    member("endTimeUnixNano", String(end))
    writer.key("attributes")
    writer.beginObject()
    state.attributes.forEach { name, attribute in
      writer.key(name)
      switch attribute {
      case .int32(let value): writer.value(Int64(value))
      case .int64(let value): writer.value(value)
      case .double(let value): writer.value(value)
      case .bool(let value): writer.value(value)
      case .string(let value): writer.value(value)
      default: writer.value("\(attribute)")
      }
    }
    writer.endObject()
    writer.key("events")
    writer.beginArray()
    for event in state.events { writer.value(event) }
    writer.endArray()
    writer.key("status")
    writer.beginObject()
    writer.key("code")
    writer.value(Int64(state.status.map { $0.code == .ok ? 1 : 2 } ?? 0))
    writer.endObject()
    writer.endObject()
    return writer.bytes + [UInt8(ascii: "\n")]
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
