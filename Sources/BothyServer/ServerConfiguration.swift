public import BothySyncService
import Foundation
public import Logging
public import Tracing

/// The configuration of a server: its address, its storage, its access and its limits.
public struct ServerConfiguration: Sendable {
  /// The address to listen on. The default admits this machine only.
  public var host: String
  /// The port to listen on. With 0 the system chooses one (see `BothyServer.ready()`).
  public var port: Int
  /// The storage of records, lists and outcomes: all the server's data but the bytes of blobs.
  public var storage: any ServerStorage
  /// The rules of the sync service: the schema with its permissions, and the limits of one sync.
  public var rules: AccessRules
  /// The storage of the bytes of blobs. With `nil` the server refuses blobs.
  public var blobs: (any BlobFileStorage)?
  /// The tiles to serve, or `nil`.
  public var tiles: TileLibrary?
  /// The access control. With `nil` every caller is admitted to every space as the user `anyone`.
  public var access: Authentication?
  /// The host names of a server that requires no token, besides IP addresses, `localhost` and `host`.
  ///
  /// Requests under other names are refused, because a web page can let its own name point here.
  public var allowedHosts: [String] = []
  /// The addresses of reverse proxies, to which `Limits.addressConnections` doesn't apply. The default is this machine.
  ///
  /// All connections through a proxy have its address, so the proxy must limit those of each client.
  public var proxies = AddressRange.loopback
  /// The certificate for TLS. With `nil` the server speaks plain HTTP, for a proxy on the same machine.
  public var tls: TLSFiles?
  /// The limits of bodies, request rates and silence.
  public var limits: Limits
  /// The values of all limits, for `/metrics`. With `nil` those of `rules` and `limits` are known alone.
  package var bounds: ServerBounds?
  /// The files of the schema in `rules`, to read again when they change. With `nil` the schema stays.
  public var schemaFiles: SchemaFiles?
  /// Further files to read again when they change, such as those of secrets.
  package var watchedFiles: [WatchedFiles] = []
  /// The files whose sizes `/metrics` prints.
  public var files = StorageFiles()
  /// The time for which data that isn't needed is kept.
  public var upkeep = RetentionPolicy()
  /// The group of the principals that may read the feed of their spaces: all records, whatever the permissions say. With
  /// `nil` the server has no feed. Without tokens every caller may read it.
  public var feedGroup: String?
  /// The webhooks that receive the changes of spaces, or `nil`.
  public var webhooks: WebhookSettings?
  /// Receives the messages for operators: requests, maintenance, failures, and files that were read again.
  public var logger: Logger
  /// Receives a line for each refusal of access.
  public var auditLogger: Logger
  /// Receives a span for each request and each transaction on the storage. The default is the process's tracer.
  public var tracer: any Tracer = InstrumentationSystem.tracer
  /// Sends spans to a collector while the server runs, or `nil`. Set `tracer` to its tracer too.
  public var traces: TraceExporter?
  /// Notifies open event streams of writes. A storage shared by several processes publishes to it too.
  public var notifications: ChangeNotifier
  /// True if responses may be compressed for callers that accept it.
  public var compressesAnswers: Bool
  /// The server's clock, in milliseconds since 1970.
  public var now: @Sendable () -> Int64

  /// Creates a configuration. Only the storage is required.
  ///
  /// The defaults make a server for this machine alone that admits every caller. It accepts 8 MiB in a request, has no
  /// limit on request rates, and has neither blobs nor tiles.
  public init(
    host: String = "127.0.0.1", port: Int = 8080, storage: any ServerStorage,
    rules: AccessRules = AccessRules(), blobs: (any BlobFileStorage)? = nil,
    tiles: TileLibrary? = nil,
    access: Authentication? = nil, tls: TLSFiles? = nil, limits: Limits = Limits(),
    logger: Logger = Logger(label: "bothy.server"), auditLogger: Logger = Logger(label: "bothy.audit"),
    notifications: ChangeNotifier = ChangeNotifier(), compressesAnswers: Bool = true,
    now: @escaping @Sendable () -> Int64 = ServerConfiguration.systemClock
  ) {
    self.host = host
    self.port = port
    self.storage = storage
    self.rules = rules
    self.blobs = blobs
    self.tiles = tiles
    self.access = access
    self.tls = tls
    self.limits = limits
    self.logger = logger
    self.auditLogger = auditLogger
    self.notifications = notifications
    self.compressesAnswers = compressesAnswers
    self.now = now
  }

  /// Returns true if requests under a host name are accepted. A server that requires tokens accepts all names.
  package func answers(to authority: String) -> Bool {
    (try? Authenticator(self).checkHost(authority)) != nil
  }

  /// The system's clock.
  public static let systemClock: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }

  /// The limits on what one caller can make the server do.
  public struct Limits: Sendable, Hashable {
    /// The most bytes of a request's body, after decompression.
    public var bodySize: Int
    /// The most bytes of decompressed bodies, of all requests together. One user may hold half of them. Requests beyond
    /// that receive 503, but one body always fits.
    public var unpackedSize: Int = 64 << 20
    /// The most bytes of all bodies and answers over 64 KiB that are on their way. One user may hold an eighth of them, if
    /// tokens distinguish users. Requests beyond that receive 503, but one body always fits.
    public var transferSize: Int = 512 << 20
    /// The number of pulls and other short reads that run at a time. Further ones wait in line.
    public var concurrency = 64
    /// The number of pushes and other writes that run at a time. They have a line of their own.
    public var pushConcurrency = 64
    /// The number of queries, digests and lists of containers that run at a time. They have a line of their own, so that
    /// pulls and pushes never wait for them. One user may have half of them.
    public var queryConcurrency = 4
    /// The number of running pulls, and of running pushes, of one user, if tokens distinguish users. The default is the
    /// number of processors, at least four.
    public var principalConcurrency = max(4, ProcessInfo.processInfo.activeProcessorCount)
    /// The number of requests of one user that may wait in each line. Further requests receive 503.
    public var waiting = 1000
    /// The requests a user may make per second in the long run, or `nil` for any number.
    public var requestsPerSecond: Double?
    /// The requests a user may make at once after a pause.
    public var requestBurst: Int
    /// The requests to a space per second in the long run, of all users together, or `nil` for any number.
    public var spaceRequestsPerSecond: Double?
    /// The requests to a space at once after a pause.
    public var spaceRequestBurst: Int
    /// The longest silence of a connection while a request is read, while its answer is, or between requests.
    public var idleTimeout: Duration
    /// The time for a connection to send a whole header, from its beginning or from the header's first byte.
    public var headerTime: Duration = .seconds(10)
    /// The most bytes of a header's fields together, and of a request's address.
    public var headerSize = 64 << 10
    /// The time for a body, besides a second for each `bodyRate` bytes of it that arrived.
    public var bodyTime: Duration = .seconds(60)
    /// The bytes of a body that must arrive in each second beyond `bodyTime`.
    public var bodyRate = 1024
    /// The number of open connections. Further ones are closed at once.
    public var connections = 20_000
    /// The number of open connections of one IPv4 address, or of one IPv6 network of 64 bits. Further ones are closed at
    /// once. It doesn't apply to the addresses in `ServerConfiguration.proxies`.
    public var addressConnections = 1000
    /// The number of open event streams of one user, or of one address if the server requires no token. Further ones
    /// receive 429.
    public var streams = 250
    /// The time from the beginning of a shutdown to the end of new connections. `/readyz` answers 503 meanwhile, so that
    /// load balancers choose other processes.
    public var drainTime: Duration = .zero
    /// The time from the end of new connections to the end of queries that still run, which are answered 503. A service
    /// group needs a longer `maximumGracefulShutdownDuration` for these answers.
    public var shutdownTime: Duration = .seconds(75)
    /// The least time between two notifications of one event stream. The first is sent at once, and writes that arrive
    /// faster are combined into one.
    public var notificationInterval: Duration
    /// The time that `/healthz` and `/readyz` wait for the database before they report that it doesn't respond.
    public var healthTime: Duration = .seconds(2)
    /// The time for which unfinished uploads and blobs that no record was ever pushed for are kept after the last
    /// request for them. Devices rely on a day.
    public var unusedBlobAge: Duration

    /// Creates limits. The defaults limit bodies (8 MiB), silence (75 seconds) and notifications (five a second), but
    /// not request rates. `bothy serve --limits` prints all of them.
    public init(
      bodySize: Int = 8 << 20, requestsPerSecond: Double? = nil, requestBurst: Int = 100,
      spaceRequestsPerSecond: Double? = nil, spaceRequestBurst: Int = 1000,
      idleTimeout: Duration = .seconds(75), notificationInterval: Duration = .milliseconds(200),
      unusedBlobAge: Duration = .seconds(7 * 86_400)
    ) {
      self.bodySize = bodySize
      self.requestsPerSecond = requestsPerSecond
      self.requestBurst = requestBurst
      self.spaceRequestsPerSecond = spaceRequestsPerSecond
      self.spaceRequestBurst = spaceRequestBurst
      self.idleTimeout = idleTimeout
      self.notificationInterval = notificationInterval
      self.unusedBlobAge = unusedBlobAge
    }
  }
}
