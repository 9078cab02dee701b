import BothySyncService
import CoreMetrics
import Synchronization

/// The server's metrics. `ServerMetric.all` lists them.
struct ServerMetrics: Sendable {
  let registry: MetricsRegistry
  /// The slots of requests, with the numbers of running and waiting ones.
  let turns: RequestTurns
  let connections: ConnectionCount
  private let upkeep: LastUpkeep

  /// The time of the last look at the due spaces, in milliseconds since 1970.
  private final class LastUpkeep: Sendable {
    let time: Atomic<Int64>
    init(_ time: Int64) { self.time = Atomic(time) }
  }

  /// - Parameter startedAt: the start of the server, in milliseconds since 1970.
  init(registry: MetricsRegistry, turns: RequestTurns, connections: ConnectionCount, startedAt: Int64) {
    self.registry = registry
    self.turns = turns
    self.connections = connections
    upkeep = LastUpkeep(startedAt)
  }

  func request(_ method: String, route: String, status: Int, duration: Duration) {
    let dimensions = [("method", method), ("route", route), ("status", String(status))]
    registry.makeCounter(label: "bothy_http_requests_total", dimensions: dimensions).increment(by: 1)
    registry.makeTimer(label: "bothy_http_request_seconds", dimensions: dimensions)
      .recordNanoseconds(Self.nanoseconds(duration))
  }

  /// Counts the bytes of the body of an answer.
  func answered(bytes: Int) {
    registry.makeCounter(label: "bothy_http_answer_bytes_total", dimensions: []).increment(by: Int64(bytes))
  }

  /// Counts and times a transaction on the storage, of the kind `read`, `write` or `search`.
  func transaction(_ kind: String, succeeded: Bool, duration: Duration) {
    let dimensions = [("kind", kind), ("result", succeeded ? "done" : "failed")]
    registry.makeTimer(label: "bothy_storage_transaction_seconds", dimensions: dimensions)
      .recordNanoseconds(Self.nanoseconds(duration))
  }

  /// Counts the running transactions of a kind.
  func transactions(_ kind: String, changeBy amount: Double) {
    registry.makeMeter(label: "bothy_storage_transactions_running", dimensions: [("kind", kind)])
      .increment(by: amount)
  }

  /// Counts a refused request.
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

  /// Counts the decisions of the team's rule, and times the call. A call that left a write undecided is an outage.
  func decisions(_ decisions: [WriteDecision], duration: Duration) {
    registry.makeTimer(label: "bothy_decision_seconds", dimensions: [])
      .recordNanoseconds(Self.nanoseconds(duration))
    var counts: [String: Int64] = [:]
    for decision in decisions { counts[decision.word, default: 0] += 1 }
    for (word, count) in counts {
      registry.makeCounter(label: "bothy_decisions_total", dimensions: [("decision", word)])
        .increment(by: count)
    }
    let isOutage = decisions.contains { $0.outage != nil }
    registry.makeCounter(label: "bothy_decision_outages_total", dimensions: [])
      .increment(by: isOutage ? 1 : 0)
  }

  /// Counts a look at the spaces of a user, or a question to the back end about them, and times the question.
  func spaces(_ event: SpaceCallout.Event) {
    switch event {
    case .look(let look):
      registry.makeCounter(label: "bothy_space_looks_total", dimensions: [("result", look.rawValue)])
        .increment(by: 1)
    case .asked(let duration, let outage):
      registry.makeTimer(label: "bothy_space_seconds", dimensions: [])
        .recordNanoseconds(Self.nanoseconds(duration))
      registry.makeCounter(label: "bothy_space_outages_total", dimensions: [])
        .increment(by: outage == nil ? 0 : 1)
    }
  }

  func eventStreams(changeBy amount: Double) {
    registry.makeMeter(label: "bothy_event_streams", dimensions: []).increment(by: amount)
  }

  /// Notes that a look at the due spaces succeeded.
  func upkeepEnded(at time: Int64) { upkeep.time.store(time, ordering: .relaxed) }

  /// Sets the metrics whose values are maintained elsewhere. Costs a few look-ups in the file system.
  func collect(at now: Int64, notifications: ChangeNotifier, files: StorageFiles, traces: TraceExporter?) {
    if let traces {
      registry.setCounter("bothy_spans_total", [("result", "sent")], to: traces.sent)
      registry.setCounter("bothy_spans_total", [("result", "dropped")], to: traces.dropped)
    }
    registry.setCounter("bothy_hints_total", to: notifications.publishedCount)
    for reason in ConnectionCount.Ending.allCases {
      registry.setCounter(
        "bothy_connections_ended_total", [("reason", reason.rawValue)], to: connections.ended(reason))
    }
    set("bothy_news_by_looks", to: notifications.isLooking ? 1 : 0)
    set("bothy_connections", to: Double(connections.open))
    for kind in RequestKind.allCases {
      let counts = turns.turns(kind).counts
      set("bothy_requests_running", [("kind", kind.rawValue)], to: Double(counts.running))
      set("bothy_requests_waiting", [("kind", kind.rawValue)], to: Double(counts.waiting))
    }
    for (file, bytes) in files.sizes { set("bothy_database_bytes", [("file", file)], to: Double(bytes)) }
    for (place, bytes) in files.free { set("bothy_disk_free_bytes", [("of", place)], to: Double(bytes)) }
    eventStreams(changeBy: 0)
    set("bothy_upkeep_age_seconds", to: Double(max(0, now - upkeep.time.load(ordering: .relaxed))) / 1000)
  }

  private func set(_ label: String, _ dimensions: [(String, String)] = [], to value: Double) {
    registry.makeMeter(label: label, dimensions: dimensions).set(value)
  }
}

extension WriteDecision {
  fileprivate var word: String {
    switch kind {
    case .accept: "accepted"
    case .set, .replace: "amended"
    case .refuse: "refused"
    case .undecided: "undecided"
    }
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
