import BothySyncService
import Logging

/// The services that the handlers of all routes use.
struct ServerServices: Sendable {
  let rulebook: Rulebook
  let notifications: ChangeNotifier
  let notificationInterval: Duration
  let metrics: ServerMetrics
  let audit: AuditLog
  let logger: Logger
  let acknowledgements = Acknowledgements()
  let health: HealthCheck
  let phase = ServerPhase()
  let seats: StreamSeats
  let files: StorageFiles
  let traces: TraceExporter?
  let feedWaits: FeedWaits
  /// The group of back ends, or `nil` for a server without a feed.
  let feedGroup: String?
  let feeds: (any FeedStorage)?
  /// The storage with copies that answer reads, or `nil` for one without.
  let replicated: (any ReplicatedStorage)?
  let tiles: TileFolder?
  let asksForTokens: Bool
  let compressesTiles: Bool
  let now: @Sendable () -> Int64

  /// The rules at present.
  var service: SyncService { rulebook.service }

  /// Returns the rules at present for one answer.
  func service(within room: AnswerRoom?) -> SyncService {
    guard let room else { return service }
    return service.answering { room.take($0, for: $1) }
  }

  init(_ configuration: ServerConfiguration) {
    metrics = ServerMetrics(
      registry: MetricsRegistry(),
      turns: RequestTurns(configuration.limits, isShared: configuration.access != nil),
      connections: ConnectionCount(
        limit: configuration.limits.connections, addressLimit: configuration.limits.addressConnections,
        proxies: configuration.proxies), startedAt: configuration.now())
    let storage = InstrumentedStorage(
      base: configuration.storage, metrics: metrics, tracer: configuration.tracer,
      room: RoomWatch(now: configuration.now))
    var rules = configuration.rules
    if let rule = rules.writeRule {
      rules.writeRule = InstrumentedRule(
        rule, metrics: metrics, logger: configuration.logger, now: configuration.now)
    }
    configuration.access?.spaces?.observe(
      SpaceOutages(metrics: metrics, logger: configuration.logger, now: configuration.now).note)
    let service = SyncService(
      storage: storage, rules: rules, blobs: configuration.blobs, now: configuration.now)
    UpkeepMetrics(registry: metrics.registry).begin()
    LimitMetrics.set(in: metrics.registry, configuration)
    rulebook = Rulebook(service)
    health = HealthCheck(storage, limit: configuration.limits.healthTime)
    seats = StreamSeats(configuration.limits)
    files = configuration.files
    traces = configuration.traces
    notifications = configuration.notifications
    notificationInterval = configuration.limits.notificationInterval
    logger = configuration.logger
    audit = AuditLog(logger: configuration.auditLogger)
    feedGroup = configuration.feedGroup
    feedWaits = FeedWaits(limit: configuration.limits.feedWaits)
    feeds = configuration.storage as? any FeedStorage
    replicated = configuration.storage as? any ReplicatedStorage
    tiles = configuration.tiles
    asksForTokens = configuration.access != nil
    compressesTiles = configuration.compressesAnswers
    now = configuration.now
  }

  /// Returns all routes, that of the OpenAPI document last.
  func routes() -> RouteTable {
    let described =
      syncRoutes() + recordRoutes() + sharingRoutes() + listRoutes() + queryRoutes() + containerRoutes()
      + blobRoutes() + eventRoutes() + feedRoutes() + tileRoutes() + serviceRoutes()
    return RouteTable(described + [OpenAPIDocument.route(describing: described)])
  }
}
