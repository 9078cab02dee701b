import BothyServer
import BothyStore
import BothyTestSupport
import HTTPTypes
import Testing
import Tracing

@Suite("Spans in OpenTelemetry's JSON", .timeLimit(.minutes(5)))
struct TraceWriterTests {
  private static let trace = "0af7651916cd43dd8448eb211c80319c"
  private static let parent = "b7ad6b7169203331"

  private func spans(_ traceparent: String?) async throws -> [JSONValue] {
    let lines = Locked<[[UInt8]]>([])
    var server = try ServerUnderTest()
    server.configuration.tracer = TraceWriter { line in lines.change { $0.append(line) } }
    let field = try #require(HTTPField.Name("traceparent"))
    try await server.run { call in
      let headers: HTTPFields = traceparent.map { [field: $0] } ?? [:]
      let reply = try await call(.get, "/v1/spaces/hut/changes", nil, headers)
      #expect(reply.status == 200)
    }
    // The spans of the maintenance are left out.
    let all = try lines.value.map { try JSONValue(parsing: $0) }
    let request = all.first { $0["name"] == "GET /v1/spaces/{space}/changes" }
    return all.filter { $0["traceId"] == request?["traceId"] }
  }

  @Test("A request's span continues the caller's, and a storage span the request's")
  func continued() async throws {
    let spans = try await spans("00-\(Self.trace)-\(Self.parent)-01")
    #expect(spans.count == 2)
    let request = try #require(spans.first { $0["kind"] == 2 })
    #expect(request["traceId"] == .string(Self.trace))
    #expect(request["parentSpanId"] == .string(Self.parent))
    #expect(
      request["attributes"]?.arrayValue?.contains([
        "key": "http.response.status_code", "value": ["intValue": "200"],
      ]) == true)
    let storage = try #require(spans.first { $0["kind"] == 3 })
    #expect(storage["name"] == "storage read")
    #expect(storage["parentSpanId"] == request["spanId"])
    let times = ["startTimeUnixNano", "endTimeUnixNano"].map { UInt64(request[$0]?.stringValue ?? "") ?? 0 }
    #expect(times[0] > 1_700_000_000_000_000_000 && times[0] <= times[1])
  }

  @Test("A trace begins without a caller's, and unsampled callers get no spans")
  func begun() async throws {
    let spans = try await spans(nil)
    #expect(spans.count == 2)
    #expect(spans.allSatisfy { $0["traceId"]?.stringValue?.count == 32 })
    #expect(spans.count { $0["parentSpanId"] == nil } == 1)
    #expect(try await self.spans("00-\(Self.trace)-\(Self.parent)-00").isEmpty)
    #expect(try await self.spans("00-no-no-00").count == 2)
  }

  /// Promises: A-36
  @Test("A span is written once, with the type of an error alone")
  func errors() throws {
    let lines = Locked<[[UInt8]]>([])
    let tracer = TraceWriter { line in lines.change { $0.append(line) } }
    let span = tracer.startSpan("work", context: .topLevel, ofKind: .internal)
    span.recordError(BothyError(.invalidValue, "the-secret-title"))
    span.end()
    span.end()
    #expect(lines.value.count == 1)
    let text = String(decoding: try #require(lines.value.first), as: UTF8.self)
    #expect(text.contains("BothyError") && !text.contains("the-secret-title"))
  }
}
