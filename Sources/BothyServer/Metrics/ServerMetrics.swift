import BothySyncService
import CoreMetrics

/// The server's metrics: requests and their latency by route, operations by verdict, and open event streams.
struct ServerMetrics: Sendable {
  let registry: MetricsRegistry

  func request(_ method: String, route: String, status: Int, duration: Duration) {
    let dimensions = [("method", method), ("route", route), ("status", String(status))]
    registry.makeCounter(label: "bothy_http_requests_total", dimensions: dimensions).increment(by: 1)
    registry.makeTimer(label: "bothy_http_request_seconds", dimensions: dimensions)
      .recordNanoseconds(Self.nanoseconds(duration))
  }

  /// Counts and times a transaction on the storage, of the kind `read` or `write`.
  func transaction(_ kind: String, succeeded: Bool, duration: Duration) {
    let dimensions = [("kind", kind), ("result", succeeded ? "done" : "failed")]
    registry.makeTimer(label: "bothy_ledger_transaction_seconds", dimensions: dimensions)
      .recordNanoseconds(Self.nanoseconds(duration))
  }

  /// Counts a response 401, 403 or 429.
  func refusal(_ reason: String) {
    registry.makeCounter(label: "bothy_refusals_total", dimensions: [("reason", reason)]).increment(by: 1)
  }

  private static func nanoseconds(_ duration: Duration) -> Int64 {
    let (seconds, attoseconds) = duration.components
    return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
  }

  func operations(_ outcomes: [Outcome]) {
    var counts: [String: Int64] = [:]
    for outcome in outcomes { counts[outcome.verdict.word, default: 0] += 1 }
    for (verdict, count) in counts { add(count, verdict) }
  }

  func operation(_ verdict: Outcome.Verdict) { add(1, verdict.word) }

  private func add(_ count: Int64, _ verdict: String) {
    registry.makeCounter(label: "bothy_operations_total", dimensions: [("verdict", verdict)])
      .increment(by: count)
  }

  func eventStreams(changeBy amount: Int) {
    let gauge = registry.makeMeter(label: "bothy_event_streams", dimensions: [])
    if amount >= 0 { gauge.increment(by: Double(amount)) } else { gauge.decrement(by: Double(-amount)) }
  }
}

extension Outcome.Verdict {
  var word: String {
    switch self {
    case .applied: "applied"
    case .duplicate: "duplicate"
    case .conflict: "conflict"
    case .rejected: "rejected"
    case .waiting: "waiting"
    }
  }
}
