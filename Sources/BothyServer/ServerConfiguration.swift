public import BothySyncService
import Foundation
public import Logging
public import Tracing

/// What a server is made of: where it listens, what it keeps, whom it admits, what it refuses.
public struct ServerConfiguration: Sendable {
  /// The address to listen on. The default admits this machine only.
  public var host: String
  /// The port to listen on; 0 lets the system choose one (see `BothyServer.ready()`).
  public var port: Int
  /// What keeps records, lists and outcomes: all that the server knows but the bytes of blobs.
  public var ledger: any Ledger
  /// What is accepted and who sees what: the schema with its permissions, and the bounds of one sync.
  public var rules: AuthorityRules
  /// What keeps the bytes of blobs; nil refuses them.
  public var blobs: (any BlobVault)?
  /// The tiles to serve; nil for none.
  public var tiles: TileLibrary?
  /// Who may enter; nil admits every caller to every space as the principal `anyone`.
  public var access: AccessControl?
  /// The names that the server answers under where everybody may enter, beside IP addresses, `localhost` and `host`.
  /// Requests under other names are refused, since a page of the web can let its own name point here.
  public var allowedHosts: [String] = []
  /// The certificate to speak TLS with; nil speaks plain HTTP, for a proxy on the same machine.
  public var tls: TLSFiles?
  /// Bounds on bodies, on how often one may ask and on silence.
  public var limits: Limits
  /// How long what nobody needs any more is kept.
  public var upkeep = UpkeepTerms()
  /// Gets what operators should know: requests, upkeep, failures, files read again.
  public var logger: Logger
  /// Takes a line for each refusal of access.
  public var auditLogger: Logger
  /// Gets a span for each request and each transaction on the ledger. By default what the process was bootstrapped with.
  public var tracer: any Tracer = InstrumentationSystem.tracer
  /// Carries the news of writes to open event streams. A ledger shared by several processes feeds it too.
  public var hints: HintHub
  /// Whether answers may be compressed for callers that ask for it.
  public var compressesAnswers: Bool
  /// The server's clock, in milliseconds since 1970.
  public var now: @Sendable () -> Int64

  /// Only the ledger has to be given. The rest makes a server for this machine alone that admits everybody, takes 8 MiB
  /// in a request as often as one likes, and has neither blobs nor tiles.
  public init(
    host: String = "127.0.0.1", port: Int = 8080, ledger: any Ledger,
    rules: AuthorityRules = AuthorityRules(), blobs: (any BlobVault)? = nil,
    tiles: TileLibrary? = nil,
    access: AccessControl? = nil, tls: TLSFiles? = nil, limits: Limits = Limits(),
    logger: Logger = Logger(label: "bothy.server"), auditLogger: Logger = Logger(label: "bothy.audit"),
    hints: HintHub = HintHub(), compressesAnswers: Bool = true,
    now: @escaping @Sendable () -> Int64 = ServerConfiguration.systemClock
  ) {
    self.host = host
    self.port = port
    self.ledger = ledger
    self.rules = rules
    self.blobs = blobs
    self.tiles = tiles
    self.access = access
    self.tls = tls
    self.limits = limits
    self.logger = logger
    self.auditLogger = auditLogger
    self.hints = hints
    self.compressesAnswers = compressesAnswers
    self.now = now
  }

  /// Whether requests under a name are answered: all are where tokens are asked for.
  package func answers(to authority: String) -> Bool {
    (try? Entrance(self).checkHost(authority)) != nil
  }

  /// The system's clock.
  public static let systemClock: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }

  /// Bounds on what one caller can make the server do.
  public struct Limits: Sendable, Hashable {
    /// The most bytes of a request's body, after decompression.
    public var bodySize: Int
    /// The most bytes of bodies that came compressed and are unpacked, of all requests together; one principal may
    /// hold half of them. What goes beyond is answered 503. One body always fits.
    public var unpackedSize: Int = 64 << 20
    /// The requests that are worked on at a time; the others wait in line.
    public var concurrency = 64
    /// Those of one principal among them, where tokens tell principals apart: as many as processors, and at least four.
    public var principalConcurrency = max(4, ProcessInfo.processInfo.activeProcessorCount)
    /// The requests of one principal that may wait in line; what comes beyond is answered 503.
    public var waiting = 1000
    /// The requests a principal may make per second in the long run; nil means any number.
    public var requestsPerSecond: Double?
    /// The requests a principal may make at once after a pause.
    public var requestBurst: Int
    /// The requests to a space per second in the long run, of all principals together; nil means any number.
    public var spaceRequestsPerSecond: Double?
    /// The requests to a space at once after a pause.
    public var spaceRequestBurst: Int
    /// How long a connection may stay silent while a request is read or none is going on.
    public var idleTimeout: Duration
    /// The least time between two hints of one event stream: writes that come faster are told as one. The first is told
    /// at once.
    public var hintInterval: Duration
    /// How long `/healthz` waits for the database before it says that it does not answer.
    public var healthTime: Duration = .seconds(2)
    /// How long an upload that is not finished, or a blob that no record was ever pushed for, is kept after it was last asked
    /// for. Devices count on a day.
    public var unusedBlobAge: Duration

    /// The defaults bound bodies (8 MiB), silence (75 seconds) and hints (five a second), and not how often one may ask.
    public init(
      bodySize: Int = 8 << 20, requestsPerSecond: Double? = nil, requestBurst: Int = 100,
      spaceRequestsPerSecond: Double? = nil, spaceRequestBurst: Int = 1000,
      idleTimeout: Duration = .seconds(75), hintInterval: Duration = .milliseconds(200),
      unusedBlobAge: Duration = .seconds(7 * 86_400)
    ) {
      self.bodySize = bodySize
      self.requestsPerSecond = requestsPerSecond
      self.requestBurst = requestBurst
      self.spaceRequestsPerSecond = spaceRequestsPerSecond
      self.spaceRequestBurst = spaceRequestBurst
      self.idleTimeout = idleTimeout
      self.hintInterval = hintInterval
      self.unusedBlobAge = unusedBlobAge
    }
  }
}
