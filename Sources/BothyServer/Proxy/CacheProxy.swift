public import BothyCache
import Foundation
import Hummingbird
import HummingbirdCore
public import Logging
import NIOCore
public import ServiceLifecycle

/// A cache of resources as an HTTP proxy in front of one origin, for other programs on this machine.
///
/// What programs ask for is answered from the cache where HTTP allows it (RFC 9111, as a private cache) and fetched
/// else; what changes things on the origin passes through and removes what it outdates. `run()` is its lifetime.
public final class CacheProxy: Service {
  private let configuration: CacheProxyConfiguration
  private let readiness = Readiness()

  /// Opens nothing: `run()` gives the source to the cache and opens the socket.
  public init(_ configuration: CacheProxyConfiguration) { self.configuration = configuration }

  /// Listens and answers until the task is cancelled or the service group shuts down. Call it once.
  ///
  /// Throws when the address cannot be bound, or when another source of the cache has the proxy's id.
  public func run() async throws {
    do {
      try await server().run()
      readiness.fail(BothyServer.Stopped())
    } catch {
      readiness.fail(error)
      throw error
    }
  }

  /// Waits until the proxy listens and says where. Throws what `run()` throws if it never does.
  public func ready() async throws -> BothyServer.Address { try await readiness.wait() }

  /// The answer to one request; tests ask without a socket.
  package func answer(_ request: ProxyRequest) async throws -> ProxyAnswer {
    let responder = try ProxyResponder(configuration)
    switch responder.begin(request) {
    case .answered(let answer): return answer
    case .open(let order): return await responder.finish(order)
    }
  }

  private func server() throws -> any Service {
    let (host, port, readiness) = (configuration.host, configuration.port, readiness)
    return ProxyChannel(responder: try ProxyResponder(configuration), idleTimeout: .seconds(60)).server(
      configuration: .init(address: .hostname(host, port: port)),
      onServerRunning: { channel in
        readiness.succeed(BothyServer.Address(host: host, port: channel.localAddress?.port ?? port))
      },
      eventLoopGroup: EventLoopGroupProvider.singleton.eventLoopGroup, logger: configuration.logger)
  }
}

/// What a proxy stands in front of, where it listens and what it keeps things in.
public struct CacheProxyConfiguration: Sendable {
  /// The address to listen on. The default admits this machine only: a proxy asks nobody who they are.
  public var host = "127.0.0.1"
  /// The names that the proxy answers under, beside IP addresses, `localhost`, `host` and the origin's own. Others are
  /// refused, since a page of the web can let its own name point here; so are changes that such pages make.
  public var allowedHosts: [String] = []
  /// The port to listen on; 0 lets the system choose one (see `CacheProxy.ready()`).
  public var port: Int
  /// The origin as a source of the cache; `CacheProxyConfiguration.source(origin:)` makes one.
  public var source: ResourceSource
  /// What keeps the answers. Other sources of it are left alone, but they share its limits.
  public var cache: ResourceCache
  /// The way to the origin for what is not cached.
  public var loader: any ResourceLoader
  /// The largest body of a request that is passed on.
  public var bodyLimit = 64 << 20
  /// The longest until the head of an answer that is passed through.
  public var timeout: Duration = .seconds(60)
  /// Milliseconds since 1970: the cache's own clock.
  public var now: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }
  /// Gets answers at the level debug, what could not be kept at trace, failures of the cache itself as errors.
  public var logger: Logger

  /// What has no parameter here has the default written at it.
  public init(
    port: Int, source: ResourceSource, cache: ResourceCache, loader: any ResourceLoader, logger: Logger
  ) {
    self.port = port
    self.source = source
    self.cache = cache
    self.loader = loader
    self.logger = logger
  }

  /// The origin as a plain HTTP cache sees it: errors and redirects are kept where HTTP allows it, nothing is asked for
  /// twice, and callers are told of failures at once.
  ///
  /// - Parameter origin: an address that paths are put behind, like `https://example.org`.
  /// - Throws: `CacheError.invalidSource` when it is none.
  public static func source(origin: String) throws -> ResourceSource {
    var rule = FreshnessRule.http
    rule.keepsEveryStatus = true
    var limits = SourceLimits()
    limits.requestsPerHost = 64
    limits.attempts = 1
    limits.patience = .zero
    let id = SourceID("proxy of " + origin)
    var source = try ResourceSource(id, template: origin, freshness: rule, limits: limits)
    source.requiresUserAgent = false
    return source
  }
}
