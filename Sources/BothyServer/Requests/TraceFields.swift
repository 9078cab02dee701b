import HTTPTypes
import Tracing

/// Reads what a caller says of the trace that its request belongs to.
enum TraceFields {
  /// For tracers, which know the fields of their own formats.
  struct Fields: Extractor {
    func extract(key: String, from headers: HTTPFields) -> String? {
      HTTPField.Name(key).flatMap { headers[$0] }
    }
  }

  /// The trace's id in `traceparent` (W3C Trace Context, 3.2), for the log; nil for none and for one that is malformed.
  static func traceID(_ headers: HTTPFields) -> String? {
    guard let name = HTTPField.Name(TraceParent.field), let field = headers[name] else { return nil }
    return TraceParent(field)?.trace
  }
}
