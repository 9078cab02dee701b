import BothySync
import CoreMetrics

/// What the server counts: requests and their latency by route, operations by verdict, open event streams.
struct ServerMetrics: Sendable {
  let registry: MetricsRegistry

  func request(_ method: String, route: String, status: Int, duration: Duration) {
    let dimensions = [("method", method), ("route", route)]
    registry.makeCounter(
      label: "bothy_http_requests_total", dimensions: dimensions + [("status", String(status))]
    ).increment(by: 1)
    let (seconds, attoseconds) = duration.components
    registry.makeTimer(label: "bothy_http_request_seconds", dimensions: dimensions)
      .recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
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
