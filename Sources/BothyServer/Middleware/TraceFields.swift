import HTTPTypes
import Tracing

/// Reads the trace that a request belongs to from its fields.
enum TraceFields {
  /// Extracts the fields that tracers know for their own formats.
  struct Fields: Extractor {
    func extract(key: String, from headers: HTTPFields) -> String? {
      HTTPField.Name(key).flatMap { headers[$0] }
    }
  }

  /// Returns the trace's id in `traceparent` (W3C Trace Context, 3.2) for the log. Returns `nil` if the field is
  /// missing or malformed.
  static func traceID(_ headers: HTTPFields) -> String? {
    Fields().extract(key: TraceParent.field, from: headers).flatMap { TraceParent($0)?.trace }
  }
}
