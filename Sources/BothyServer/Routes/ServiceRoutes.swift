import BothyStore
import BothySyncService
import HTTPTypes

/// The routes for operators: health and metrics.
extension ServerParts {
  func serviceRoutes() -> [Route] {
    [
      Route(
        method: .get, pattern: "/healthz", operation: "health",
        summary: "Whether the server can read its database, and has room to write.", isOpen: true,
        answers: [.init(status: 200, about: "It can.", schema: "Health")], problems: [503], handle: tellHealth
      ),
      Route(
        method: .get, pattern: "/metrics", operation: "metrics",
        summary: "Counters and latencies in the Prometheus text format.", isOpen: true,
        answers: [
          .init(status: 200, about: "The metrics.", schema: "MetricsText", type: MetricsRegistry.textType)
        ], handle: metricsText),
    ]
  }

  private func tellHealth(_ call: Call) async throws -> Answer {
    if let problem = await health.problem() { throw problem }
    return Answer.object { writer in
      writer.key("status")
      writer.value("ok")
    }
  }

  private func metricsText(_ call: Call) async throws -> Answer {
    metrics.registry.setCounter("bothy_hints_total", to: hints.publishedCount)
    return Answer(
      .ok, headers: [.contentType: MetricsRegistry.textType],
      body: .bytes(Array(metrics.registry.prometheusText.utf8)))
  }
}
