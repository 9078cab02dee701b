import BothyStore
import BothySyncService
import HTTPTypes

/// The routes for operators: health, readiness and metrics.
extension ServerServices {
  func serviceRoutes() -> [Route] {
    [
      Route(
        method: .get, pattern: "/healthz", operation: "health",
        summary: "Whether the server can read its database, and has room to write.", isOpen: true,
        answers: [.init(status: 200, about: "It can.", schema: "Health")], problems: [503], handle: tellHealth
      ),
      Route(
        method: .get, pattern: "/livez", operation: "live",
        summary: "Whether the process answers, whatever the database does.", isOpen: true,
        answers: [.init(status: 200, about: "It does.", schema: "Health")],
        handle: { _ in Self.healthy() }),
      Route(
        method: .get, pattern: "/readyz", operation: "ready",
        summary:
          "Whether requests should be sent here: the server neither starts nor stops, and its database answers.",
        isOpen: true,
        answers: [.init(status: 200, about: "They should.", schema: "Readiness")], problems: [503],
        handle: tellReadiness),
      Route(
        method: .get, pattern: "/metrics", operation: "metrics",
        summary: "Counters and latencies in the Prometheus text format.", isOpen: true,
        answers: [
          .init(status: 200, about: "The metrics.", schema: "MetricsText", type: MetricsRegistry.textType)
        ], handle: metricsText),
    ]
  }

  private func tellHealth(_ call: ServerContext) async throws -> ServerResponse {
    if let problem = await health.problem() { throw problem }
    return Self.healthy()
  }

  /// A full disk leaves the server ready, because pulls go on. So do replicas that can't be used.
  private func tellReadiness(_ call: ServerContext) async throws -> ServerResponse {
    if let problem = phase.problem { throw problem }
    if let problem = await health.problem(), problem.code != HTTPFailure.diskFull.code { throw problem }
    return Self.healthy(replicas: replicated?.replicas ?? [])
  }

  private static func healthy(replicas: [ReplicaState] = []) -> ServerResponse {
    ServerResponse.object { writer in
      writer.member("status", "ok")
      guard !replicas.isEmpty else { return }
      writer.list("replicas", replicas) { writer, replica in
        writer.member("used", replica.problem == nil)
        writer.member("lagSeconds", replica.lagSeconds)
        if let problem = replica.problem { writer.member("problem", problem.rawValue) }
      }
    }
  }

  private func metricsText(_ call: ServerContext) async throws -> ServerResponse {
    metrics.collect(at: now(), notifications: notifications, files: files, traces: traces)
    if let replicated { ReplicaMetrics(registry: metrics.registry).set(replicated.replicas) }
    return ServerResponse(
      .ok, headers: [.contentType: MetricsRegistry.textType],
      body: .bytes(Array(metrics.registry.prometheusText.utf8)))
  }
}
