import BothyCore
public import Logging
public import ServiceLifecycle
import Synchronization

/// Sends spans to a collector, in batches, by OTLP over HTTP with JSON.
///
/// Requests never wait for it. Every five seconds it sends what it holds, at most 512 spans in a request. It holds 2,048
/// spans at most, and drops and counts new ones beyond these. The statuses 429, 502, 503 and 504 and a missing
/// answer repeat a batch after a while, an hour at most; others drop it. At the end of the server, what is left is sent
/// once, until the collector doesn't take a batch now.
public final class TraceExporter: Service {
  static let capacity = 2048
  static let batch = 512
  static let interval: Duration = .seconds(5)
  /// The longest wait that a collector may request.
  static let longestWait: Duration = .seconds(3600)

  private struct State: Sendable {
    var spans: [[UInt8]] = []
    var dropped: Int64 = 0
    var sent: Int64 = 0
  }

  private let address: String
  private let headers: [String: String]
  private let service: String
  private let logger: Logger
  private let sleep: @Sendable (Duration) async throws -> Void
  private let send: @Sendable (OutboundRequest) async throws -> OutboundResponse
  private let backoff = Backoff()
  private let state = Mutex(State())

  /// Creates an exporter.
  /// - Parameters:
  ///   - endpoint: the collector's address, such as `http://localhost:4318`. Spans go to `/v1/traces` below it.
  ///   - headers: fields of each request, such as an API key of the collector.
  ///   - service: the value of `service.name`.
  ///   - sleep: waits between attempts.
  ///   - send: sends a request once. Throws without a response.
  public init(
    endpoint: String, headers: [String: String] = [:], service: String = "bothy", logger: Logger,
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
    send: @escaping @Sendable (OutboundRequest) async throws -> OutboundResponse
  ) {
    address = (endpoint.hasSuffix("/") ? String(endpoint.dropLast()) : endpoint) + "/v1/traces"
    self.headers = headers
    self.service = service
    self.logger = logger
    self.sleep = sleep
    self.send = send
  }

  /// The tracer whose spans are sent.
  public var tracer: TraceWriter {
    TraceWriter { [weak self] span in self?.add(span) }
  }

  /// The number of spans that were dropped, because the collector was away or refused them.
  package var dropped: Int64 { state.withLock { $0.dropped } }

  /// The number of spans that the collector accepted.
  package var sent: Int64 { state.withLock { $0.sent } }

  private func add(_ span: [UInt8]) {
    state.withLock { state in
      if state.spans.count < Self.capacity { state.spans.append(span) } else { state.dropped += 1 }
    }
  }

  /// Sends spans until the server shuts down, and then those that are left, once. A collector that is away delays the
  /// end by one request.
  public func run() async throws {
    try await repeating(after: { Self.interval }) { [self] in try await sendAll() }
    while let batch = next() {
      let verdict = await attempt(batch)
      finish(batch, verdict)
      if case .later = verdict { return dropAll() }
    }
  }

  /// Sends what is held, batch after batch, and waits for a collector that is away.
  package func sendAll() async throws {
    while let batch = next() {
      var verdict = await attempt(batch)
      var failures = 0
      while case .later(let wait) = verdict {
        failures += 1
        do { try await sleep(max(wait ?? .zero, backoff.delay(attempt: failures))) } catch {
          state.withLock { $0.spans.insert(contentsOf: batch, at: 0) }
          throw error
        }
        verdict = await attempt(batch)
      }
      finish(batch, verdict)
    }
  }

  private enum Verdict {
    case taken
    case refused(Int)
    case later(Duration?)
  }

  private func next() -> [[UInt8]]? {
    state.withLock { state in
      guard !state.spans.isEmpty else { return nil }
      let batch = Array(state.spans.prefix(Self.batch))
      state.spans.removeFirst(batch.count)
      return batch
    }
  }

  private func dropAll() {
    state.withLock { state in
      state.dropped += Int64(state.spans.count)
      state.spans = []
    }
  }

  private func attempt(_ batch: [[UInt8]]) async -> Verdict {
    var headers = headers
    headers["Content-Type"] = "application/json"
    let request = OutboundRequest(
      url: address, headers: headers, body: TraceDocument.request(batch, service: service),
      timeout: .seconds(10))
    do {
      let response = try await send(request)
      switch response.status {
      case 200...299: return .taken
      case 429, 502, 503, 504: return .later(response.retryAfter.map { min($0, Self.longestWait) })
      default: return .refused(response.status)
      }
    } catch {
      return .later(nil)
    }
  }

  private func finish(_ batch: [[UInt8]], _ verdict: Verdict) {
    if case .taken = verdict { return state.withLock { $0.sent += Int64(batch.count) } }
    state.withLock { $0.dropped += Int64(batch.count) }
    guard case .refused(let status) = verdict else { return }
    logger.warning(
      "the collector refused spans", metadata: ["status": "\(status)", "spans": "\(batch.count)"])
  }
}
