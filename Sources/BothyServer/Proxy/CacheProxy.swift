import Hummingbird
import HummingbirdCore
import NIOCore
public import ServiceLifecycle
import Synchronization

/// An HTTP proxy in front of one origin, for other programs on this machine, with a cache of resources.
///
/// Responses come from the cache if HTTP allows it (RFC 9111, as a shared or a private cache), and otherwise from the
/// origin.
/// Requests that change the origin pass through, and invalidate the entries they outdate. `run()` is the proxy's
/// lifetime.
public final class CacheProxy: Service {
  private let configuration: CacheProxyConfiguration
  private let readiness = Readiness()
  /// The responder of requests without a socket.
  private let responder = Mutex<ProxyResponder?>(nil)

  /// Creates a proxy. `run()` registers the source with the cache and opens the socket.
  public init(_ configuration: CacheProxyConfiguration) { self.configuration = configuration }

  /// Listens and responds until the task is cancelled or the service group shuts down. Call it once.
  ///
  /// Throws if the address can't be bound, or if another source of the cache has the proxy's id.
  public func run() async throws {
    do {
      try await server().run()
      readiness.fail(BothyServer.Stopped())
    } catch {
      readiness.fail(error)
      throw error
    }
  }

  /// Waits until the proxy listens, and returns its address.
  ///
  /// Returns at once after that. A cancelled task throws at once.
  ///
  /// - Throws: the error of `run()` if the proxy never listens.
  public func ready() async throws -> BothyServer.Address { try await readiness.wait() }

  /// Returns the response to one request. Tests call it without a socket.
  package func answer(_ request: ProxyRequest) async throws -> ProxyAnswer {
    let responder = try responder.withLock { known in
      let responder = try known ?? ProxyResponder(configuration)
      known = responder
      return responder
    }
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
