import BothySync

/// What the handlers of all routes work with.
struct ServerParts: Sendable {
  let authority: Authority
  let hints: HintHub
  let metrics: ServerMetrics

  init(_ configuration: ServerConfiguration) {
    authority = Authority(
      ledger: configuration.ledger, rules: configuration.rules, blobs: configuration.blobs,
      now: configuration.now)
    hints = configuration.hints
    metrics = ServerMetrics(registry: MetricsRegistry())
  }

  /// All routes, the document of them last.
  func routes() -> RouteTable {
    let described =
      syncRoutes() + recordRoutes() + sharingRoutes() + listRoutes() + queryRoutes() + containerRoutes()
      + blobRoutes() + eventRoutes() + serviceRoutes()
    return RouteTable(described + [OpenAPIDocument.route(describing: described)])
  }
}
