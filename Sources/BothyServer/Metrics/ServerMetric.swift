/// One family of metrics of the server: its name, kind, labels and meaning.
///
/// `all` is the one list of them. `/metrics` has its texts, and a test compares it with docs/production.md.
package struct ServerMetric: Sendable {
  package enum Kind: String, Sendable { case counter, gauge, histogram }

  package let name: String
  package let kind: Kind
  package var labels: [String] = []
  package let about: String

  package static let all = [
    ServerMetric(
      name: "bothy_http_requests_total", kind: .counter, labels: ["method", "route", "status"],
      about: "Answered requests."),
    ServerMetric(
      name: "bothy_http_request_seconds", kind: .histogram, labels: ["method", "route", "status"],
      about: "Times of requests."),
    ServerMetric(
      name: "bothy_http_answer_bytes_total", kind: .counter,
      about: "Bytes of the bodies of answers, as sent, without event streams."),
    ServerMetric(
      name: "bothy_requests_running", kind: .gauge, labels: ["kind"],
      about: "Requests at work: pull, push or query."),
    ServerMetric(
      name: "bothy_requests_waiting", kind: .gauge, labels: ["kind"],
      about: "Requests in line: pull, push or query."),
    ServerMetric(
      name: "bothy_refusals_total", kind: .counter, labels: ["reason"],
      about:
        "Refused requests: unknown, expired, space, principalRate, streams, tooSlow, unavailable and others."),
    ServerMetric(
      name: "bothy_connections", kind: .gauge, about: "Open connections, those of event streams included."),
    ServerMetric(
      name: "bothy_connections_ended_total", kind: .counter, labels: ["reason"],
      about: "Connections that the server ended: full, address, slowHeader, slowBody or slowReader."),
    ServerMetric(
      name: "bothy_limit", kind: .gauge, labels: ["limit"],
      about: "The values of limits, in bytes, milliseconds or numbers; +Inf for none."),
    ServerMetric(name: "bothy_event_streams", kind: .gauge, about: "Open event streams."),
    ServerMetric(name: "bothy_hints_total", kind: .counter, about: "Notifications to spaces."),
    ServerMetric(
      name: "bothy_news_by_looks", kind: .gauge,
      about: "1 if the database has no LISTEN, so that other processes' writes are noticed every 5 seconds."),
    ServerMetric(
      name: "bothy_operations_total", kind: .counter, labels: ["verdict"],
      about: "Operations of devices by verdict."),
    ServerMetric(
      name: "bothy_decisions_total", kind: .counter, labels: ["decision"],
      about: "Decisions of the team's own rule: accepted, amended, refused or undecided."),
    ServerMetric(
      name: "bothy_decision_outages_total", kind: .counter,
      about: "Calls of the team's own rule that left a write undecided."),
    ServerMetric(
      name: "bothy_decision_seconds", kind: .histogram, about: "Times of calls of the team's own rule."),
    ServerMetric(
      name: "bothy_space_looks_total", kind: .counter, labels: ["result"],
      about:
        "Looks at the spaces of a user with --spaces-from: known, asked, kept during an outage or unavailable."
    ),
    ServerMetric(
      name: "bothy_space_outages_total", kind: .counter,
      about: "Questions about the spaces of a user that were not answered."),
    ServerMetric(
      name: "bothy_space_seconds", kind: .histogram, about: "Times of questions about the spaces of a user."),
    ServerMetric(
      name: "bothy_storage_transaction_seconds", kind: .histogram, labels: ["kind", "result"],
      about: "Times of transactions on the database: read, write or search."),
    ServerMetric(
      name: "bothy_storage_transactions_running", kind: .gauge, labels: ["kind"],
      about: "Transactions that use a connection or wait for one. Reads beyond the connections for them wait."
    ),
    ServerMetric(
      name: "bothy_disk_free_bytes", kind: .gauge, labels: ["of"],
      about: "Free bytes on the disk of the database file and of the blobs."),
    ServerMetric(
      name: "bothy_database_bytes", kind: .gauge, labels: ["file"],
      about: "Bytes of the SQLite file (data) and of its log (log)."),
    ServerMetric(
      name: "bothy_upkeep_age_seconds", kind: .gauge,
      about: "Seconds since the last look at the due spaces that succeeded, or since the start."),
    ServerMetric(
      name: "bothy_upkeep_due_spaces", kind: .gauge, about: "Spaces whose upkeep was due at the last look."),
    ServerMetric(
      name: "bothy_upkeep_lag_seconds", kind: .gauge, about: "The longest that one of them had waited."),
    ServerMetric(
      name: "bothy_upkeep_spaces_total", kind: .counter, labels: ["result"],
      about: "Spaces that were looked after: done, or failed and put off."),
    ServerMetric(
      name: "bothy_spans_total", kind: .counter, labels: ["result"],
      about: "Spans for the collector: sent, or dropped because it was away too long. With --otlp alone."),
  ]

  /// The metrics of each webhook, which only a server with webhooks has.
  package static let webhooks = [
    ServerMetric(
      name: "bothy_webhook_delivery_seconds", kind: .histogram, labels: ["webhook", "result"],
      about: "Attempts and their times: delivered, failed or gone."),
    ServerMetric(
      name: "bothy_webhook_changes_total", kind: .counter, labels: ["webhook"], about: "Delivered changes."),
    ServerMetric(
      name: "bothy_webhook_failing_spaces", kind: .gauge, labels: ["webhook"],
      about: "Spaces whose last attempt failed."),
    ServerMetric(
      name: "bothy_webhook_lag_seconds", kind: .gauge, labels: ["webhook"],
      about: "Age of the oldest change of the last failed attempt, or 0 when all is delivered."),
    ServerMetric(
      name: "bothy_webhook_disabled", kind: .gauge, labels: ["webhook"], about: "1 after an answer of 410."),
  ]

  /// The metrics of each replica, which only a server with replicas has.
  package static let replicas = [
    ServerMetric(
      name: "bothy_replica_used", kind: .gauge, labels: ["replica"],
      about: "1 while reads are sent to the replica, 0 while it is left alone."),
    ServerMetric(
      name: "bothy_replica_lag_bytes", kind: .gauge, labels: ["replica"],
      about: "Bytes of the database's log that the replica lacked when it was last asked."),
    ServerMetric(
      name: "bothy_replica_lag_seconds", kind: .gauge, labels: ["replica"],
      about: "Seconds for which the replica has lacked changes; 0 for less than about a second."),
    ServerMetric(
      name: "bothy_replica_reads_total", kind: .counter, labels: ["replica", "result"],
      about: "Reads sent to the replica: answered, or behind, ahead or failed and answered by the database."),
  ]

  /// All metrics that a server can have.
  package static let everything = all + webhooks + replicas

  /// The table of docs/production.md.
  package static var markdown: String { table(of: all) }

  /// The table of docs/scaling.md.
  package static var replicaMarkdown: String { table(of: replicas) }

  private static func table(of metrics: [ServerMetric]) -> String {
    let rows = metrics.map { metric in
      let labels = metric.labels.isEmpty ? "" : "{\(metric.labels.joined(separator: ","))}"
      return "| `\(metric.name)\(labels)` | \(metric.kind.rawValue) | \(metric.about) |"
    }
    return (["| metric | kind | meaning |", "|---|---|---|"] + rows).joined(separator: "\n")
  }
}
