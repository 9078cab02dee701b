public import Tracing

/// A tracer that gives each span away when it ends, as an object of OpenTelemetry's JSON (OTLP).
///
/// It continues a trace by `traceparent` (W3C Trace Context), and omits traces that their callers mark as not sampled.
/// `TraceDocument` makes a document of spans, and `TraceExporter` sends them to a collector.
public struct TraceWriter: Tracer {
  private let write: @Sendable ([UInt8]) -> Void

  /// - Parameter write: takes the JSON of a span; called once for each span, from any task.
  public init(write: @escaping @Sendable ([UInt8]) -> Void) { self.write = write }

  public func startSpan<Instant: TracerInstant>(
    _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
    at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
  ) -> WrittenSpan {
    var context = context()
    let parent = context[TraceParent.self]
    let place = TraceParent(
      trace: parent?.trace ?? TraceParent.random(bytes: 16), span: TraceParent.random(bytes: 8),
      isSampled: parent?.isSampled ?? true)
    context[TraceParent.self] = place
    return WrittenSpan(
      operationName, context, place, parent: parent?.span, kind, start: instant().nanosecondsSinceEpoch,
      write: write)
  }

  public func activeSpan(identifiedBy context: ServiceContext) -> WrittenSpan? { nil }

  public func forceFlush() {}

  public func extract<Carrier, Extract: Extractor>(
    _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
  ) where Extract.Carrier == Carrier {
    guard let field = extractor.extract(key: TraceParent.field, from: carrier),
      let parent = TraceParent(field)
    else { return }
    context[TraceParent.self] = parent
  }

  public func inject<Carrier, Inject: Injector>(
    _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
  ) where Inject.Carrier == Carrier {
    guard let parent = context[TraceParent.self] else { return }
    injector.inject(parent.text, forKey: TraceParent.field, into: &carrier)
  }
}
