package import Hummingbird
import HummingbirdCore
import HummingbirdTLS
import Logging
import NIOCore
public import ServiceLifecycle

/// An HTTP server for spaces, with the rules of `SyncService`.
///
/// `run()` is its lifetime. Add it to a `ServiceGroup`. When the group shuts down gracefully, the server accepts no new
/// connection, finishes running requests, and ends event streams.
public final class BothyServer: Service {
  private let configuration: ServerConfiguration
  private let parts: ServerServices
  private let readiness = Readiness()

  /// Creates a server. It opens and reads nothing before `run()`.
  public init(_ configuration: ServerConfiguration) {
    self.configuration = configuration
    parts = ServerServices(configuration)
  }

  /// The metrics that `/metrics` prints.
  public var metrics: MetricsRegistry { parts.metrics.registry }

  /// A summary of each route, for tests that cover all of them.
  package var routes: [RouteSummary] {
    parts.routes().routes.map { route in
      RouteSummary(
        method: route.method.rawValue, pattern: route.pattern, operation: route.operation,
        isOpen: route.isOpen, takesBody: route.body != nil)
    }
  }

  package struct RouteSummary: Sendable {
    package var method: String
    package var pattern: String
    package var operation: String
    /// True if the route requires no token.
    package var isOpen: Bool
    package var takesBody: Bool
  }

  /// Listens and responds until the task is cancelled or the service group shuts down. Call it once.
  ///
  /// Throws if the address can't be bound.
  public func run() async throws {
    do {
      try await application().run()
      readiness.fail(Stopped())
    } catch {
      readiness.fail(error)
      throw error
    }
  }

  /// Waits until the server listens, and returns its address. Throws what `run()` throws if the server never listens.
  public func ready() async throws -> Address { try await readiness.wait() }

  /// The address where a server listens.
  public struct Address: Sendable, Hashable {
    /// The configured host, a name or a number.
    public var host: String
    /// The port in use. If the configuration has 0, the system chose it.
    public var port: Int

    /// True if the server speaks TLS.
    public var isSecure = false

    /// The scheme, host and port, without a slash at the end. An IPv6 address is in brackets.
    public var url: String {
      "\(isSecure ? "https" : "http")://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }
  }

  /// The error for a server that stopped before its address was requested.
  struct Stopped: Error {}

  /// Returns the application behind `run()`. Tests call its responder without a socket. Throws for a certificate that
  /// can't be used.
  package func application() throws -> some ApplicationProtocol {
    let departures = Departures()
    let pipeline = RequestPipeline(
      configuration, parts.service, routes: parts.routes(), metrics: parts.metrics, departures: departures)
    let idle = TimeAmount.milliseconds(Int64(configuration.limits.idleTimeout / .milliseconds(1)))
    let (host, readiness, port) = (configuration.host, readiness, configuration.port)
    var server = HTTPServerBuilder.http1(
      configuration:
        .init(additionalChannelHandlers: [DepartureHandler(departures)], idleTimeout: idle))
    let isSecure = configuration.tls != nil
    if let tls = configuration.tls { server = try .tls(server, tlsConfiguration: tls.configuration()) }
    return Application(
      responder: pipeline, server: server,
      configuration: ApplicationConfiguration(address: .hostname(host, port: port)),
      services: [
        Heartbeat(hub: configuration.hints, interval: .seconds(15)), Upkeep(parts.service, configuration),
        AccessWatch(access: configuration.access, hub: configuration.hints, logger: configuration.logger),
      ],
      onServerRunning: { channel in
        readiness.succeed(Address(host: host, port: channel.localAddress?.port ?? port, isSecure: isSecure))
      },
      logger: configuration.logger)
  }
}
