import BothySyncService
import Logging

/// The services that the handlers of all routes use.
struct ServerServices: Sendable {
  let service: SyncService
  let hints: ChangeNotifier
  let hintInterval: Duration
  let metrics: ServerMetrics
  let audit: AuditLog
  let logger: Logger
  let acknowledgements = Acknowledgements()
  let health: HealthCheck
  let tiles: TileLibrary?
  let asksForTokens: Bool
  let compressesTiles: Bool
  let now: @Sendable () -> Int64

  init(_ configuration: ServerConfiguration) {
    metrics = ServerMetrics(registry: MetricsRegistry())
    service = SyncService(
      ledger: InstrumentedLedger(
        base: configuration.ledger, metrics: metrics, tracer: configuration.tracer,
        room: RoomWatch(now: configuration.now)),
      rules: configuration.rules, blobs: configuration.blobs,
      now: configuration.now)
    health = HealthCheck(service.ledger, limit: configuration.limits.healthTime)
    hints = configuration.hints
    hintInterval = configuration.limits.hintInterval
    logger = configuration.logger
    audit = AuditLog(logger: configuration.auditLogger)
    tiles = configuration.tiles
    asksForTokens = configuration.access != nil
    compressesTiles = configuration.compressesAnswers
    now = configuration.now
  }

  /// Returns all routes, that of the OpenAPI document last.
  func routes() -> RouteTable {
    let described =
      syncRoutes() + recordRoutes() + sharingRoutes() + listRoutes() + queryRoutes() + containerRoutes()
      + blobRoutes() + eventRoutes() + tileRoutes() + serviceRoutes()
    return RouteTable(described + [OpenAPIDocument.route(describing: described)])
  }
}
