import BothyServer
import BothySync
import HTTPTypes
import InMemoryTracing
import Testing
import Tracing

@Suite("Traces and metrics of requests", .timeLimit(.minutes(5)))
struct ObservationTests {
  @Test("Each request is a span with route and status, above its storage transactions")
  func spans() async throws {
    let tracer = InMemoryTracer()
    var server = try ServerUnderTest()
    server.configuration.tracer = tracer
    let traceID = try #require(HTTPField.Name(InMemoryTracer.traceIDKey))
    let spanID = try #require(HTTPField.Name(InMemoryTracer.spanIDKey))
    try await server.run { call async throws in
      tracer.clearFinishedSpans()
      _ = try await call(
        .put, "/v1/spaces/hut/records/T/1", #"{"fields":{}}"#, [traceID: "trace-1", spanID: "span-1"])
      let spans = tracer.finishedSpans.filter { $0.spanContext.traceID == "trace-1" }
      let request = try #require(
        spans.first { $0.operationName == "PUT /v1/spaces/{space}/records/{type}/{id}" })
      #expect(request.spanContext.parentSpanID == "span-1")
      #expect(request.attributes.get("http.response.status_code") == .int64(201))
      let storage = spans.filter { $0.operationName.hasPrefix("storage") }
      #expect(Set(storage.map(\.operationName)) == ["storage read", "storage write"])
      #expect(storage.allSatisfy { $0.spanContext.parentSpanID == request.spanContext.spanID })
    }
  }

  @Test("The log lines of requests and refusals have only a well-formed traceparent")
  func traceparent() async throws {
    let log = LogUnderTest()
    var server = try ServerUnderTest(tokens: "[]")
    server.configuration.logger = log.logger()
    server.configuration.auditLogger = log.logger()
    let field = try #require(HTTPField.Name("traceparent"))
    let id = "0af7651916cd43dd8448eb211c80319c"
    try await server.run { call async throws in
      for text in [
        "00-\(id)-b7ad6b7169203331-01", "01-\(id)-b7ad6b7169203331-01-more",
        "00-\(id)-b7ad6b7169203331-01-more",
        "ff-\(id)-b7ad6b7169203331-01", "00-\(String(repeating: "0", count: 32))-b7ad6b7169203331-01",
        "00-\(id.uppercased())-b7ad6b7169203331-01", "x",
      ] {
        _ = try await call(.get, "/v1/spaces/hut/changes", nil, [field: text])
      }
    }
    let requests = log.lines.filter { $0.message == "request" }
    #expect(requests.map { $0.metadata["trace"] } == [id, id, nil, nil, nil, nil, nil])
    #expect(requests.allSatisfy { $0.metadata["request"]?.isEmpty == false })
    let refusals = log.lines.filter { $0.message == "access refused" }
    #expect(refusals.map { $0.metadata["trace"] } == [id, id, nil, nil, nil, nil, nil])
  }

  @Test("Metrics have histograms by route and status, and count notifications and refusals")
  func metrics() async throws {
    let tokens = #"[{"token":"a","principal":"ann","spaces":["hut"]}]"#
    try await ServerUnderTest(tokens: tokens).run { call async throws in
      let ann = call.with(token: "a")
      _ = try await ann(.put, "/v1/spaces/hut/records/T/1", #"{"fields":{}}"#)
      _ = try await ann(.get, "/v1/spaces/barn/changes")
      _ = try await call(.get, "/v1/spaces/hut/changes")
      let text = try await call(.get, "/metrics").text
      for line in [
        "# TYPE bothy_http_request_seconds histogram", "# TYPE bothy_storage_transaction_seconds histogram",
        #"bothy_storage_transaction_seconds_count{kind="write",result="done"} 1"#,
        #"bothy_http_request_seconds_count{method="GET",route="/v1/spaces/{space}/changes",status="401"} 1"#,
        "bothy_hints_total 1", #"bothy_refusals_total{reason="missing"} 1"#,
        #"bothy_refusals_total{reason="space"} 1"#,
      ] {
        #expect(text.contains(line), "\(line)")
      }
    }
    try await ServerUnderTest(storage: BrokenStorage()).run { call async throws in
      _ = try await call(.get, "/v1/spaces/hut/changes")
      let text = try await call(.get, "/metrics").text
      #expect(text.contains(#"bothy_storage_transaction_seconds_count{kind="read",result="failed"} 1"#))
    }
  }
}
