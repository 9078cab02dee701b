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
    guard let name = HTTPField.Name("traceparent"), let field = headers[name] else { return nil }
    let parts = field.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count >= 4, parts[0].utf8.count == 2, parts[0] != "ff", parts[0] != "00" || parts.count == 4,
      parts[1].utf8.count == 32, parts[2].utf8.count == 16, parts[3].utf8.count == 2,
      parts.prefix(4).allSatisfy({ $0.utf8.allSatisfy(isDigit) }),
      parts[1].contains(where: { $0 != "0" }), parts[2].contains(where: { $0 != "0" })
    else { return nil }
    return String(parts[1])
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
  }
}
