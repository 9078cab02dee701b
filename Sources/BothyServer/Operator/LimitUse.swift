import BothySyncService
import CoreMetrics

/// The metrics that say how near a server came to a limit: gauges with the limited number, and counts of refusals.
struct LimitUse: Sendable {
  /// The name of the limit.
  var limit: String
  /// A metric with the number that is limited, and its labels.
  var gauge: (name: String, labels: [String: String])?
  /// The reasons of `bothy_refusals_total` that the limit can have. Some belong to several limits.
  var refusals: [String] = []
  /// The reasons of `bothy_connections_ended_total`.
  var endings: [String] = []

  static let all = [
    LimitUse(limit: "connections", gauge: ("bothy_connections", [:]), endings: ["full"]),
    LimitUse(limit: "address-connections", endings: ["address"]),
    LimitUse(limit: "streams", refusals: ["streams"]),
    LimitUse(limit: "header-time", endings: ["slowHeader"]),
    LimitUse(limit: "body-time", refusals: ["tooSlow"], endings: ["slowBody"]),
    LimitUse(limit: "requests", gauge: ("bothy_requests_running", ["kind": "pull"])),
    LimitUse(limit: "pushes", gauge: ("bothy_requests_running", ["kind": "push"])),
    LimitUse(limit: "queries", gauge: ("bothy_requests_running", ["kind": "query"])),
    LimitUse(limit: "principal-rate", refusals: ["principalRate"]),
    LimitUse(limit: "space-rate", refusals: ["spaceRate"]),
    LimitUse(limit: "body-size", refusals: ["tooLarge"]),
    LimitUse(limit: "record-size", refusals: ["tooLarge"]),
    LimitUse(limit: "operations", refusals: ["tooManyOperations"]),
    LimitUse(limit: "pulls", refusals: ["tooManyPulls"]),
    LimitUse(limit: "sharing-rows", refusals: ["tooManyReaders"]),
    LimitUse(limit: "lists", refusals: ["tooManyReaders"]),
    LimitUse(limit: "memberships", refusals: ["tooManyReaders"]),
    LimitUse(limit: "answer-megabytes", refusals: ["answerTooLarge"]),
    LimitUse(limit: "query-time", refusals: ["tooExpensive"]),
    LimitUse(limit: "scan-time", refusals: ["tooExpensive"]),
    LimitUse(limit: "blob-quota", refusals: ["quotaExceeded"]),
    LimitUse(limit: "decide-time", refusals: ["undecided"]),
    LimitUse(limit: "spaces-time", refusals: ["spaces"]),
    LimitUse(limit: "readers", gauge: ("bothy_storage_transactions_running", ["kind": "read"])),
    LimitUse(limit: "database-connections", gauge: ("bothy_storage_transactions_running", ["kind": "write"])),
  ]

  /// The metrics whose highest values are remembered.
  static let gauges = Set(all.compactMap { $0.gauge?.name })

  /// Returns false for the limits of the other kind of database. Only a server on a file has its size.
  static func applies(_ limit: String, to metrics: MetricsText) -> Bool {
    let isFile = !metrics.all("bothy_database_bytes").isEmpty
    switch limit {
    case "readers": return isFile
    case "database-connections", "database-patience": return !isFile
    default: return true
    }
  }
}

/// The limits of a process as metrics, so that a monitor sees how near it comes to them.
enum LimitMetrics {
  /// Sets a gauge for each limit that an option sets and whose value is known.
  ///
  /// A program that embeds the server knows those of its own storage and blobs. So they are left out there.
  static func set(in registry: MetricsRegistry, _ configuration: ServerConfiguration) {
    var bounds = ServerBounds()
    (bounds.rules, bounds.server) = (configuration.rules, configuration.limits)
    bounds.retention = configuration.upkeep
    let known = configuration.bounds ?? bounds
    let subjects: [ServerLimit.Subject] =
      configuration.bounds == nil
      ? [.connections, .requests, .answers, .keeping] : ServerLimit.Subject.allCases
    for limit in ServerLimit.all where limit.range != nil && subjects.contains(limit.subject) {
      registry.makeMeter(label: "bothy_limit", dimensions: [("limit", limit.name)])
        .set(limit.value(in: known) ?? .infinity)
    }
  }
}
