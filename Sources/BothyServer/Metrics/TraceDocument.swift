import BothyCore
import Tracing

/// Documents of spans in OpenTelemetry's JSON, as collectors take them by HTTP and from files of lines.
public enum TraceDocument {
  /// Returns an export request with these spans, each as `TraceWriter` gives it.
  ///
  /// - Parameter service: the name of the service, as the attribute `service.name`.
  public static func request(_ spans: [[UInt8]], service: String) -> [UInt8] {
    var writer = JSONWriter(reserving: spans.reduce(256) { $0 + $1.count })
    writer.object { writer in
      writer.list("resourceSpans", [spans]) { writer, spans in
        writer.object("resource") { writer in
          writer.list("attributes", [service]) { write("service.name", .string($1), to: &$0) }
        }
        writer.list("scopeSpans", [spans]) { writer, spans in
          writer.object("scope") { $0.member("name", "bothy") }
          writer.array("spans", spans) { $0.raw($1) }
        }
      }
    }
    return writer.bytes
  }

  /// Writes the members of an attribute: its key, and its value below the name of its type. Integers are texts there.
  static func write(_ name: String, _ attribute: SpanAttribute, to writer: inout JSONWriter) {
    writer.member("key", name)
    writer.object("value") { writer in
      switch attribute {
      case .int32(let value): writer.member("intValue", String(value))
      case .int64(let value): writer.member("intValue", String(value))
      case .double(let value): writer.member("doubleValue", value)
      case .bool(let value): writer.member("boolValue", value)
      case .string(let value): writer.member("stringValue", value)
      default: writer.member("stringValue", "\(attribute)")
      }
    }
  }
}
