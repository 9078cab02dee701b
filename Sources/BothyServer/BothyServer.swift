package import Hummingbird
import HummingbirdCore
import HummingbirdTLS
import Logging
import NIOCore
public import ServiceLifecycle

/// A server for spaces: the rule of `Authority` behind HTTP.
///
/// `run()` is its lifetime. Give it to a `ServiceGroup`; when the group shuts down gracefully, no connection is
/// accepted any more, requests under way are finished, event streams are ended.
public final class BothyServer: Service {
  private let configuration: ServerConfiguration
  private let parts: ServerParts
  private let readiness = Readiness()

  /// Puts the parts together. Nothing is opened or read before `run()`.
  public init(_ configuration: ServerConfiguration) {
    self.configuration = configuration
    parts = ServerParts(configuration)
  }

  /// The metrics that `/metrics` prints.
  public var metrics: MetricsRegistry { parts.metrics.registry }

  /// What tests of all routes go through: each is there as it is routed.
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
    /// Whether no token is asked for.
    package var isOpen: Bool
    package var takesBody: Bool
  }

  /// Listens and answers until the task is cancelled or the service group shuts down. Call it once.
  ///
  /// Throws when the address cannot be bound.
  public func run() async throws {
    do {
      try await application().run()
      readiness.fail(Stopped())
    } catch {
      readiness.fail(error)
      throw error
    }
  }

  /// Waits until the server listens and says where. Throws what `run()` throws if it never does.
  public func ready() async throws -> Address { try await readiness.wait() }

  /// Where a server listens.
  public struct Address: Sendable, Hashable {
    /// The address as it was configured, a name or a number.
    public var host: String
    /// The port in use: the system's choice where the configuration had 0.
    public var port: Int

    /// Whether it speaks TLS.
    public var isSecure = false

    /// Scheme, host and port, with no slash at the end; an IPv6 address stands in brackets.
    public var url: String {
      "\(isSecure ? "https" : "http")://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }
  }

  /// The server stopped before it was asked where it listens.
  struct Stopped: Error {}

  /// The application behind `run()`; tests call its responder without a socket. Throws for a certificate that cannot be used.
  package func application() throws -> some ApplicationProtocol {
    let departures = Departures()
    let pipeline = RequestPipeline(
      configuration, parts.authority, routes: parts.routes(), metrics: parts.metrics, departures: departures)
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
        Heartbeat(hub: configuration.hints, interval: .seconds(15)), Upkeep(parts.authority, configuration),
        AccessWatch(access: configuration.access, hub: configuration.hints, logger: configuration.logger),
      ],
      onServerRunning: { channel in
        readiness.succeed(Address(host: host, port: channel.localAddress?.port ?? port, isSecure: isSecure))
      },
      logger: configuration.logger)
  }
}
