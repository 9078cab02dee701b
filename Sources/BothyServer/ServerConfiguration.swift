public import BothySync
import Foundation
public import Logging

/// What a server is made of: where it listens, what it keeps, whom it admits, what it refuses.
public struct ServerConfiguration: Sendable {
  /// The address to listen on. The default admits this machine only.
  public var host: String
  /// The port to listen on; 0 lets the system choose one (see `BothyServer.ready()`).
  public var port: Int
  public var ledger: any Ledger
  public var rules: AuthorityRules
  /// What keeps the bytes of blobs; nil refuses them.
  public var blobs: (any BlobVault)?
  /// The tiles to serve; nil for none.
  public var tiles: TileLibrary?
  /// Who may enter; nil admits every caller to every space as the principal `anyone`.
  public var tokens: TokenTable?
  public var limits: Limits
  public var logger: Logger
  /// Carries the news of writes to open event streams. A ledger shared by several processes feeds it too.
  public var hints: HintHub
  /// Whether answers may be compressed for callers that ask for it.
  public var compressesAnswers: Bool
  /// The server's clock, in milliseconds since 1970.
  public var now: @Sendable () -> Int64

  public init(
    host: String = "127.0.0.1", port: Int = 8080, ledger: any Ledger,
    rules: AuthorityRules = AuthorityRules(), blobs: (any BlobVault)? = nil,
    tiles: TileLibrary? = nil,
    tokens: TokenTable? = nil, limits: Limits = Limits(), logger: Logger = Logger(label: "bothy.server"),
    hints: HintHub = HintHub(), compressesAnswers: Bool = true,
    now: @escaping @Sendable () -> Int64 = ServerConfiguration.systemClock
  ) {
    self.host = host
    self.port = port
    self.ledger = ledger
    self.rules = rules
    self.blobs = blobs
    self.tiles = tiles
    self.tokens = tokens
    self.limits = limits
    self.logger = logger
    self.hints = hints
    self.compressesAnswers = compressesAnswers
    self.now = now
  }

  /// The system's clock.
  public static let systemClock: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }

  /// Bounds on what one caller can make the server do.
  public struct Limits: Sendable, Hashable {
    /// The most bytes of a request's body, after decompression.
    public var bodySize: Int
    /// The requests a principal may make per second in the long run; nil means any number.
    public var requestsPerSecond: Double?
    /// The requests a principal may make at once after a pause.
    public var requestBurst: Int
    /// How long a connection may stay silent while a request is read or none is going on.
    public var idleTimeout: Duration
    /// How long an upload that is not finished, or a blob that no record was ever pushed for, is kept after it was last asked
    /// for. Devices count on a day.
    public var unusedBlobAge: Duration

    public init(
      bodySize: Int = 8 << 20, requestsPerSecond: Double? = nil, requestBurst: Int = 100,
      idleTimeout: Duration = .seconds(75), unusedBlobAge: Duration = .seconds(7 * 86_400)
    ) {
      self.bodySize = bodySize
      self.requestsPerSecond = requestsPerSecond
      self.requestBurst = requestBurst
      self.idleTimeout = idleTimeout
      self.unusedBlobAge = unusedBlobAge
    }
  }
}
