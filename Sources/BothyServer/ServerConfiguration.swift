public import BothySyncService
import Foundation
public import Logging
public import Tracing

/// The configuration of a server: its address, its storage, its access and its limits.
///
/// A server copies it when it is created, so later changes have no effect on it. What may change while it
/// runs is in files that it reads again: access, certificate and schema.
public struct ServerConfiguration: Sendable {
  /// The address to listen on. The default admits this machine only.
  ///
  /// `0.0.0.0` listens on all IPv4 addresses. Set `access` before that, since a server without it admits
  /// every caller.
  public var host: String
  /// The port to listen on, by default 8080. With 0 the system chooses one (see `BothyServer.ready()`).
  public var port: Int
  /// The storage of records, lists and outcomes: all the server's data but the bytes of blobs.
  ///
  /// The server neither opens nor closes it.
  public var storage: any ServerStorage
  /// The rules of the sync service: the schema with its permissions, and the limits of one sync.
  ///
  /// Set `schemaFiles` too for a schema that changes without a restart.
  public var rules: AccessRules
  /// The storage of the bytes of blobs. With `nil` the server refuses blobs, with the status 501.
  public var blobs: (any BlobFileStorage)?
  /// The tiles to serve, or `nil`. Without them requests for tiles receive 404.
  public var tiles: TileFolder?
  /// The access control. With `nil` every caller is admitted to every space as the user `anyone`.
  ///
  /// A request without a valid token receives 401, and one for a space that the token doesn't open 403.
  public var access: Authentication?
  /// The host names of a server that requires no token, besides IP addresses, `localhost` and `host`.
  ///
  /// Requests under other names are refused with the status 421, because a web page can let its own name
  /// point here. It has no effect on a server that requires tokens.
  public var allowedHosts: [String] = []
  /// The addresses of reverse proxies, to which `Limits.addressConnections` doesn't apply. The default is this machine.
  ///
  /// All connections through a proxy have its address, so the proxy must limit those of each client.
  public var proxies = AddressRange.loopback
  /// The certificate for TLS. With `nil` the server speaks plain HTTP, for a proxy on the same machine.
  ///
  /// The files are read when the server starts, and again when they change.
  public var tls: TLSFiles?
  /// The limits of bodies, request rates and silence. Each process of a server counts by itself.
  public var limits: Limits
  /// The values of all limits, for `/metrics`. With `nil` those of `rules` and `limits` are known alone.
  package var bounds: ServerBounds?
  /// The files of the schema in `rules`, to read again when they change. With `nil` the schema stays.
  ///
  /// The server checks them every second. A schema that can't follow the present one is logged as an error,
  /// and the present one stays in force.
  public var schemaFiles: SchemaFiles?
  /// Further files to read again when they change, such as those of secrets.
  package var watchedFiles: [WatchedFiles] = []
  /// The files whose sizes and free space `/metrics` prints. By default none.
  ///
  /// Costs a few look-ups in the file system for each request of `/metrics`.
  public var files = StorageFiles()
  /// The time for which data that isn't needed is kept: tombstones, outcomes and blobs without a record.
  ///
  /// The server looks after each space at most once an hour, unless its `interval` says otherwise.
  public var upkeep = RetentionPolicy()
  /// The group of the users that may read the feed of their spaces: all records, whatever the permissions say. With
  /// `nil` the server has no feed. Without tokens every caller may read it.
  public var feedGroup: String?
  /// The webhooks that receive the changes of spaces, or `nil`. They are sent while the server runs.
  public var webhooks: WebhookSettings?
  /// Receives the messages for operators: requests, maintenance, failures, and files that were read again.
  ///
  /// Each request is one line of the level `info`, with its user, space, status and time in milliseconds.
  public var logger: Logger
  /// Receives a line for each refusal of access, of the level `notice`.
  ///
  /// These are responses 401, 403 and 429, and changes that permissions refuse. A line has the user, the
  /// address and the reason, and never a token.
  public var auditLogger: Logger
  /// Receives a span for each request and each transaction on the storage. The default is the process's
  /// tracer.
  ///
  /// A process without a tracer makes no spans.
  public var tracer: any Tracer = InstrumentationSystem.tracer
  /// Sends spans to a collector while the server runs, or `nil`. Set `tracer` to its tracer too.
  ///
  /// The server runs it as a service, so don't add it to a service group.
  public var traces: TraceExporter?
  /// Notifies open event streams of writes. A storage shared by several processes publishes to it too.
  ///
  /// Pass the same notifier to such a storage. With separate ones, streams miss the writes of other
  /// processes.
  public var notifications: ChangeNotifier
  /// True if responses may be compressed for callers that accept it. True by default.
  ///
  /// Answers up to 1 KiB are sent as they are. With false it saves processor time, for a proxy that
  /// compresses.
  public var compressesAnswers: Bool
  /// The server's clock, in milliseconds since 1970. It dates changes and ends tokens.
  ///
  /// Called from any thread, several times a request. Tests pass their own.
  public var now: @Sendable () -> Int64

  /// Creates a configuration. Only the storage is required.
  ///
  /// The defaults make a server for this machine alone that admits every caller. It accepts 8 MiB in a request, has no
  /// limit on request rates, and has neither blobs nor tiles.
  public init(
    host: String = "127.0.0.1", port: Int = 8080, storage: any ServerStorage,
    rules: AccessRules = AccessRules(), blobs: (any BlobFileStorage)? = nil,
    tiles: TileFolder? = nil,
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

  /// The system's clock, in milliseconds since 1970. It may jump when the system's time is set.
  public static let systemClock: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }

  /// The limits on what one caller can make the server do. Each process counts by itself, and `/metrics`
  /// prints them.
  public struct Limits: Sendable, Hashable {
    /// The most bytes of a request's body, before and after decompression. Larger ones receive 413. The
    /// default is 8 MiB.
    public var bodySize: Int
    /// The most bytes of decompressed bodies, of all requests together, by default 64 MiB. One user may hold
    /// half of them, if tokens distinguish users. Requests beyond that receive 503, but one body always fits.
    public var unpackedSize: Int = 64 << 20
    /// The most bytes of all bodies and answers over 64 KiB that are on their way. One user may hold an eighth of them, if
    /// tokens distinguish users. Requests beyond that receive 503, but one body always fits, and so does one answer of any
    /// size while no other is on its way.
    ///
    /// An answer takes its part before its records are read, and three times its bytes while it is made. Where room is
    /// short it has fewer records, and the next request brings others.
    public var transferSize: Int = 512 << 20
    /// The number of pulls and other short reads that run at a time. Further ones wait in line.
    ///
    /// The first three numbers also determine the number of threads for work. Event streams take no place.
    public var concurrency = 64
    /// The number of pushes and other writes that run at a time. They have a line of their own.
    public var pushConcurrency = 64
    /// The number of queries, digests, histories and lists that run at a time. They have a line of their
    /// own, so that pulls and pushes never wait for them. One user may have half of them, if tokens
    /// distinguish users.
    public var queryConcurrency = 4
    /// The number of running pulls, and of running pushes, of one user, if tokens distinguish users. The default is the
    /// number of processors, at least four.
    public var principalConcurrency = max(4, ProcessInfo.processInfo.activeProcessorCount)
    /// The number of requests of one user that may wait in each line. Further requests receive 503.
    ///
    /// In the line of queries it is 64 at most. With 0 no request waits. Without tokens all callers are one
    /// user.
    public var waiting = 1000
    /// The requests a user may make per second in the long run, or `nil` for any number, the default.
    ///
    /// Further ones receive 429 with the time to wait. Without tokens all callers are one user. 0 and
    /// negative numbers set no limit.
    public var requestsPerSecond: Double?
    /// The requests a user may make at once after a pause, by default 100. Only with `requestsPerSecond`.
    public var requestBurst: Int
    /// The requests to a space per second in the long run, of all users together, or `nil` for any number,
    /// the default.
    ///
    /// Further ones receive 429 with the time to wait. 0 and negative numbers set no limit.
    public var spaceRequestsPerSecond: Double?
    /// The requests to a space at once after a pause, by default 1000. Only with `spaceRequestsPerSecond`.
    public var spaceRequestBurst: Int
    /// The longest silence of a connection while a request is read, while its answer is, or between requests.
    ///
    /// The connection is closed then. The default is 75 seconds. Set it longer than that of a proxy in front.
    public var idleTimeout: Duration
    /// The time for a connection to send a whole header, from its beginning or from the header's first byte.
    ///
    /// By default 10 seconds, the agreement on TLS included. The connection is closed then.
    public var headerTime: Duration = .seconds(10)
    /// The most bytes of a header's fields together, and of a request's address. The default is 64 KiB.
    public var headerSize = 64 << 10
    /// The time for a body, besides a second for each `bodyRate` bytes of it that arrived.
    ///
    /// By default 60 seconds. A slower body receives 408, and its connection is closed.
    public var bodyTime: Duration = .seconds(60)
    /// The bytes of a body that must arrive in each second beyond `bodyTime`, by default 1024.
    public var bodyRate = 1024
    /// The number of open connections, of all callers together. Further ones are closed at once.
    ///
    /// Each needs a file descriptor, so the process's limit must be higher.
    public var connections = 20_000
    /// The number of open connections of one IPv4 address, or of one IPv6 network of 64 bits. Further ones
    /// are closed at once. It doesn't apply to the addresses in `ServerConfiguration.proxies`.
    public var addressConnections = 1000
    /// The number of open event streams of one user, or of one address if the server requires no token.
    /// Further ones receive 429, to try again in 30 seconds.
    public var streams = 250
    /// The number of requests of feeds that wait for a change. Further ones receive 503.
    package var feedWaits = 1000
    /// The time from the beginning of a shutdown to the end of new connections. `/readyz` answers 503
    /// meanwhile, so that load balancers choose other processes.
    ///
    /// Zero by default. Set it longer than the interval of the load balancer's checks.
    public var drainTime: Duration = .zero
    /// The time from the end of new connections to the end of queries that still run, which are answered 503. A service
    /// group needs a longer `maximumGracefulShutdownDuration` for these answers.
    public var shutdownTime: Duration = .seconds(75)
    /// The least time between two notifications of one event stream, by default 200 milliseconds. The first
    /// is sent at once, and writes that arrive faster are combined into one.
    public var notificationInterval: Duration
    /// The time that `/healthz` and `/readyz` wait for the database before they report that it doesn't
    /// respond.
    ///
    /// By default 2 seconds. The answer is 503 then. Concurrent callers share one check.
    public var healthTime: Duration = .seconds(2)
    /// The time for which unfinished uploads and blobs that no record was ever pushed for are kept after the
    /// last request for them. Devices rely on a day. The default is 7 days.
    ///
    /// They are deleted once a day at most.
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
