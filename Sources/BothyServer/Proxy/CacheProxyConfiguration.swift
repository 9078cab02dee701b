public import BothyCache
import Foundation
public import Logging

/// The configuration of a proxy: its origin, its address and its cache.
public struct CacheProxyConfiguration: Sendable {
  /// The address to listen on. The default admits this machine only, because a proxy doesn't authenticate callers.
  public var host = "127.0.0.1"
  /// The host names of the proxy, besides IP addresses, `localhost`, `host` and the origin's own.
  ///
  /// Requests under other names are refused, because a web page can let its own name point here. Changes that such
  /// pages send are refused too.
  public var allowedHosts: [String] = []
  /// The port to listen on. With 0 the system chooses one (see `CacheProxy.ready()`).
  public var port: Int
  /// The origin as a source of the cache; `CacheProxyConfiguration.source(origin:)` makes one.
  public var source: ResourceSource
  /// The cache for the responses. Its other sources don't change, but they share its limits.
  public var cache: ResourceCache
  /// The loader that sends requests to the origin.
  public var loader: any ResourceLoader
  /// The largest body of a request that is passed on, in bytes. The default is 64 MiB.
  public var bodyLimit = 64 << 20
  /// The longest wait for the head of a response that is passed through. The default is a minute.
  public var timeout: Duration = .seconds(60)
  /// The cache's own clock, in milliseconds since 1970.
  public var now: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }
  /// Receives responses at the level debug, responses that couldn't be stored at trace, and failures of the cache as
  /// errors.
  public var logger: Logger

  /// Creates a configuration. Properties without a parameter here have their defaults.
  public init(
    port: Int, source: ResourceSource, cache: ResourceCache, loader: any ResourceLoader, logger: Logger
  ) {
    self.port = port
    self.source = source
    self.cache = cache
    self.loader = loader
    self.logger = logger
  }

  /// Returns the origin as a plain HTTP cache sees it. Errors and redirects are stored if HTTP allows it, the cache
  /// doesn't retry, and callers learn of failures at once.
  ///
  /// - Parameters:
  ///   - origin: an address that paths are appended to, like `https://example.org`.
  ///   - isPrivate: true for a proxy with one user, whose private responses and cookies it stores, as a browser does. By
  ///     default it has several: what the origin marks as `private` isn't stored, `s-maxage` and `proxy-revalidate`
  ///     count, and requests with credentials pass. The entries of the two kinds are apart.
  /// - Throws: `BothyError.invalidSource` if it isn't a valid address.
  public static func source(origin: String, isPrivate: Bool = false) throws -> ResourceSource {
    var rule = FreshnessRule.http
    rule.keepsEveryStatus = true
    rule.isShared = !isPrivate
    var limits = SourceLimits()
    limits.requestsPerHost = 64
    limits.attempts = 1
    limits.patience = .zero
    let id = SourceID((isPrivate ? "private proxy of " : "proxy of ") + origin)
    var source = try ResourceSource(id, template: origin, freshness: rule, limits: limits)
    source.requiresUserAgent = false
    return source
  }
}
