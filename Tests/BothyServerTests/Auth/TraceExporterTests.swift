import BothyServer
import BothyStore
import BothyTestSupport
import Logging
import Synchronization
import Testing
import Tracing

@Suite("Spans for a collector", .timeLimit(.minutes(5)))
struct TraceExporterTests {
  /// A collector that answers what a test tells it.
  private final class Collector: Sendable {
    let received = Locked<[OutboundRequest]>([])
    /// The statuses of the next answers, then 200. Zero is a collector that is away.
    let statuses: Mutex<[Int]>
    let waits = Locked<[Duration]>([])

    init(_ statuses: [Int] = []) { self.statuses = Mutex(statuses) }

    func exporter(headers: [String: String] = [:]) -> TraceExporter {
      TraceExporter(
        endpoint: "http://collector.test:4318/", headers: headers, service: "hut",
        logger: Logger(label: "test"),
        sleep: { wait in self.waits.change { $0.append(wait) } },
        send: { request in
          self.received.change { $0.append(request) }
          let status = self.statuses.withLock { $0.isEmpty ? 200 : $0.removeFirst() }
          if status == 0 { throw Away() }
          let wait: Duration? = status == 429 ? .seconds(7) : status == 504 ? .seconds(90_000) : nil
          return OutboundResponse(status: status, retryAfter: wait)
        })
    }

    /// The names of the spans of each request.
    var names: [[String]] {
      get throws {
        try received.value.map { request in
          let document = try JSONValue(parsing: request.body)
          let scope = document["resourceSpans"]?.arrayValue?.first?["scopeSpans"]?.arrayValue?.first
          return scope?["spans"]?.arrayValue?.compactMap { $0["name"]?.stringValue } ?? []
        }
      }
    }
  }

  private struct Away: Error {}

  private func add(_ names: some Sequence<String>, to exporter: TraceExporter) {
    for name in names { exporter.tracer.startSpan(name, context: .topLevel, ofKind: .server).end() }
  }

  @Test("Spans go to the collector's path in batches, with the fields given")
  func batches() async throws {
    let collector = Collector()
    let exporter = collector.exporter(headers: ["api-key": "k"])
    add((0..<600).map { "span \($0)" }, to: exporter)
    try await exporter.sendAll()
    #expect(try collector.names.map(\.count) == [512, 88])
    #expect(try collector.names.flatMap { $0 } == (0..<600).map { "span \($0)" })
    let request = try #require(collector.received.value.first)
    #expect(request.url == "http://collector.test:4318/v1/traces")
    #expect(request.headers == ["api-key": "k", "Content-Type": "application/json"])
    let document = try JSONValue(parsing: request.body)
    #expect(
      document["resourceSpans"]?.arrayValue?.first?["resource"] == [
        "attributes": [["key": "service.name", "value": ["stringValue": "hut"]]]
      ])
    #expect(exporter.sent == 600 && exporter.dropped == 0)
    try await exporter.sendAll()
    #expect(collector.received.value.count == 2)
  }

  @Test("A collector that is away gets the same batch later")
  func away() async throws {
    let collector = Collector([0, 503, 429])
    let exporter = collector.exporter()
    add(["a", "b"], to: exporter)
    try await exporter.sendAll()
    #expect(try collector.names == [["a", "b"], ["a", "b"], ["a", "b"], ["a", "b"]])
    #expect(exporter.sent == 2 && exporter.dropped == 0)
    #expect(collector.waits.value.count == 3)
    #expect(collector.waits.value.last.map { $0 >= .seconds(7) } == true)
  }

  @Test("A collector that demands a day gets the batch after an hour")
  func longWait() async throws {
    let collector = Collector([504])
    let exporter = collector.exporter()
    add(["a"], to: exporter)
    try await exporter.sendAll()
    #expect(collector.waits.value == [.seconds(3600)])
    #expect(exporter.sent == 1)
  }

  @Test("A refused batch is dropped and counted, and the next one is sent")
  func refused() async throws {
    let collector = Collector([400])
    let exporter = collector.exporter()
    add((0..<513).map { "span \($0)" }, to: exporter)
    try await exporter.sendAll()
    #expect(try collector.names.map(\.count) == [512, 1])
    #expect(exporter.sent == 1 && exporter.dropped == 512)
  }

  @Test("Spans beyond the capacity are dropped and counted")
  func full() async throws {
    let collector = Collector()
    let exporter = collector.exporter()
    add((0..<2050).map { "span \($0)" }, to: exporter)
    #expect(exporter.dropped == 2)
    try await exporter.sendAll()
    #expect(exporter.sent == 2048)
  }

  @Test("A batch whose wait for the collector is cancelled is kept")
  func interrupted() async throws {
    let received = Locked(0)
    let exporter = TraceExporter(
      endpoint: "http://collector.test:4318", logger: Logger(label: "test"),
      sleep: { _ in throw CancellationError() },
      send: { _ in
        received.change { $0 += 1 }
        return OutboundResponse(status: received.value == 1 ? 503 : 200)
      })
    add(["a", "b"], to: exporter)
    await #expect(throws: CancellationError.self) { try await exporter.sendAll() }
    try await exporter.sendAll()
    #expect(exporter.sent == 2 && exporter.dropped == 0)
  }

  @Test("The end of the server sends what is left")
  func end() async throws {
    let collector = Collector()
    let exporter = collector.exporter()
    add(["last"], to: exporter)
    let running = Task { try await exporter.run() }
    running.cancel()
    try await running.value
    #expect(try collector.names == [["last"]])
  }

  @Test("A collector that is away delays the end of the server by one request")
  func awayAtEnd() async throws {
    let collector = Collector([0, 0, 0])
    let exporter = collector.exporter()
    add((0..<1100).map { "span \($0)" }, to: exporter)
    let running = Task { try await exporter.run() }
    running.cancel()
    try await running.value
    #expect(collector.received.value.count == 1)
    #expect(exporter.sent == 0 && exporter.dropped == 1100)
  }
}
