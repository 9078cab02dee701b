import BothyStore
import BothySyncService
import HTTPTypes

/// The routes for operators: health and metrics.
extension ServerServices {
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

  private func tellHealth(_ call: ServerRequest) async throws -> ServerResponse {
    if let problem = await health.problem() { throw problem }
    return ServerResponse.object { writer in
      writer.key("status")
      writer.value("ok")
    }
  }

  private func metricsText(_ call: ServerRequest) async throws -> ServerResponse {
    metrics.registry.setCounter("bothy_hints_total", to: hints.publishedCount)
    return ServerResponse(
      .ok, headers: [.contentType: MetricsRegistry.textType],
      body: .bytes(Array(metrics.registry.prometheusText.utf8)))
  }
}
