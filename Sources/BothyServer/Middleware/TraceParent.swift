import BothyStore
import Tracing

/// A position in a trace, in the form of `traceparent` (W3C Trace Context, 3.2).
struct TraceParent: Sendable, ServiceContextKey {
  typealias Value = TraceParent
  static let field = "traceparent"

  var trace: String
  var span: String
  var isSampled: Bool

  init(trace: String, span: String, isSampled: Bool) {
    self.trace = trace
    self.span = span
    self.isSampled = isSampled
  }

  /// Returns `nil` for text that is malformed.
  init?(_ field: String) {
    let parts = field.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count >= 4, parts[0].utf8.count == 2, parts[0] != "ff", parts[0] != "00" || parts.count == 4,
      parts[1].utf8.count == 32, parts[2].utf8.count == 16, parts[3].utf8.count == 2,
      parts.prefix(4).allSatisfy({ $0.utf8.allSatisfy(Self.isDigit) }),
      parts[1].contains(where: { $0 != "0" }), parts[2].contains(where: { $0 != "0" }),
      let flags = UInt8(parts[3], radix: 16)
    else { return nil }
    self.init(trace: String(parts[1]), span: String(parts[2]), isSampled: flags & 1 == 1)
  }

  var text: String { "00-\(trace)-\(span)-\(isSampled ? "01" : "00")" }

  static func random(bytes: Int) -> String {
    (0..<bytes).map { _ in UInt8.random(in: 0...255) }.hexadecimal
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
  }
}
