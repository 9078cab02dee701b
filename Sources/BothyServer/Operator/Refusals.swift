/// The counts of refusals in the metrics of a process, by series.
enum Refusals {
  /// The statuses of refused requests, as `bothy_refusals_total` counts them.
  static let statuses: Set<String> = ["401", "403", "408", "413", "429", "503", "507"]

  /// Returns all counts, keyed by their series.
  static func counts(_ metrics: MetricsText) -> [String: Double] {
    samples(metrics).reduce(into: [:]) { $0[$1.series] = $1.value }
  }

  /// Returns the samples that count refusals: by reason, by route, and ended connections.
  static func samples(_ metrics: MetricsText) -> [MetricsText.Sample] {
    byReason(metrics) + byRoute(metrics) + metrics.all("bothy_connections_ended_total")
  }

  static func byReason(_ metrics: MetricsText) -> [MetricsText.Sample] { metrics.all("bothy_refusals_total") }

  static func byRoute(_ metrics: MetricsText) -> [MetricsText.Sample] {
    metrics.all("bothy_http_requests_total").filter { statuses.contains($0.labels["status"] ?? "") }
  }
}
