import BothySync

/// What the handlers of all routes work with.
struct ServerParts: Sendable {
  let authority: Authority
  let hints: HintHub
  let metrics: ServerMetrics
  let tiles: TileLibrary?
  let asksForTokens: Bool
  let compressesTiles: Bool
  let now: @Sendable () -> Int64

  init(_ configuration: ServerConfiguration) {
    authority = Authority(
      ledger: configuration.ledger, rules: configuration.rules, blobs: configuration.blobs,
      now: configuration.now)
    hints = configuration.hints
    metrics = ServerMetrics(registry: MetricsRegistry())
    tiles = configuration.tiles
    asksForTokens = configuration.tokens != nil
    compressesTiles = configuration.compressesAnswers
    now = configuration.now
  }

  /// All routes, the document of them last.
  func routes() -> RouteTable {
    let described =
      syncRoutes() + recordRoutes() + sharingRoutes() + listRoutes() + queryRoutes() + containerRoutes()
      + blobRoutes() + eventRoutes() + tileRoutes() + serviceRoutes()
    return RouteTable(described + [OpenAPIDocument.route(describing: described)])
  }
}
