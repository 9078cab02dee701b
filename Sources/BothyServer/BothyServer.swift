package import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
public import ServiceLifecycle

/// An HTTP server for spaces, with the rules of `SyncService`.
///
/// `run()` is its lifetime. Add it to a `ServiceGroup`. When the group shuts down gracefully, the server
/// accepts no new connection, finishes running requests, and ends event streams.
///
/// The routes of spaces need tokens if the configuration has `access`. `/livez`, `/healthz`, `/readyz` and
/// `/metrics` never do. The storage belongs to the caller, who closes it after `run()`.
public final class BothyServer: Service {
  private let configuration: ServerConfiguration
  private let parts: ServerServices
  private let readiness = Readiness()
  private let departures = Departures()
  private let schemaWatch: FileWatch?

  /// Creates a server. It opens and reads nothing before `run()`, and copies the configuration.
  public init(_ configuration: ServerConfiguration) {
    self.configuration = configuration
    let parts = ServerServices(configuration)
    self.parts = parts
    schemaWatch = configuration.schemaFiles.map { files in
      FileWatch(
        files.paths, since: files.versions, subject: "the schema", logger: configuration.logger
      ) {
        try parts.rulebook.reload(files)
      }
    }
  }

  /// Reads the schema again if its files have changed, as the server does every second while it runs.
  package func lookAtSchema() { schemaWatch?.look() }

  /// The metrics that `/metrics` prints.
  ///
  /// They are those of this server, and may be read before, during and after `run()`.
  /// `MetricsRegistry.prometheusText` has them as text.
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
  /// It also does the server's upkeep, and reads files of access, certificate and schema again when they
  /// change. A graceful shutdown waits for `Limits.drainTime`, then for running requests. Queries that still
  /// run after `Limits.shutdownTime` end with 503.
  ///
  /// - Throws: an error of the system if the address can't be bound, and `BothyError` `.invalidValue` for a
  ///   certificate or key that can't be used.
  public func run() async throws {
    do {
      try await serve()
      readiness.fail(Stopped())
    } catch {
      readiness.fail(error)
      throw error
    }
  }

  /// Runs the application. With a drain time, a shutdown reaches it only when that is over.
  private func serve() async throws {
    let (application, phase, limits) = (try application(), parts.phase, configuration.limits)
    let last = Countdown(limits.drainTime + limits.shutdownTime) { [departures] in departures.endAll() }
    defer { last.cancel() }
    guard limits.drainTime > .zero else {
      return try await withGracefulShutdownHandler {
        try await application.run()
      } onGracefulShutdown: {
        phase.drain()
        last.begin()
      }
    }
    let group = ServiceGroup(
      configuration: .init(services: [application], logger: configuration.logger))
    let drain = Countdown(limits.drainTime) { await group.triggerGracefulShutdown() }
    defer { drain.cancel() }
    // A detached task doesn't learn of the shutdown by itself.
    let work = Task.detached { try await group.run() }
    try await withTaskCancellationHandler {
      try await withGracefulShutdownHandler {
        try await work.value
      } onGracefulShutdown: {
        phase.drain()
        drain.begin()
        last.begin()
      }
    } onCancel: {
      work.cancel()
    }
  }

  /// Waits until the server listens, and returns its address.
  ///
  /// Returns at once after that. Any number of tasks may wait, also before `run()` is called. A cancelled
  /// task waits on.
  ///
  /// - Throws: the error of `run()` if the server never listens.
  public func ready() async throws -> Address { try await readiness.wait() }

  /// The address where a server listens, as `BothyServer.ready()` returns it.
  public struct Address: Sendable, Hashable {
    /// The configured host, a name or a number. With `0.0.0.0` callers need another name of the machine.
    public var host: String
    /// The port in use. If the configuration has 0, the system chose it.
    public var port: Int

    /// True if the server speaks TLS.
    public var isSecure = false

    /// The scheme, host and port, without a slash at the end. An IPv6 address is in brackets.
    ///
    /// It is an address for callers on this machine. Behind a proxy the public address is another.
    public var url: String {
      "\(isSecure ? "https" : "http")://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }
  }

  /// The error for a server that stopped before its address was requested.
  struct Stopped: Error {}

  /// Returns the application behind `run()`. Tests call its responder without a socket. Throws for a certificate that
  /// can't be used.
  package func application() throws -> some ApplicationProtocol {
    let pipeline = RequestPipeline(configuration, parts, departures: departures)
    let (host, readiness, port, phase) = (configuration.host, readiness, configuration.port, parts.phase)
    let certificate = try configuration.tls.map { try ServerCertificate($0) }
    let isSecure = certificate != nil
    let webhooks: [any Service] = WebhookService(configuration, parts).map { [$0] } ?? []
    let traces: [any Service] = configuration.traces.map { [$0] } ?? []
    return Application(
      responder: pipeline.responder(), server: connections(certificate),
      configuration: ApplicationConfiguration(address: .hostname(host, port: port)),
      services: [
        Heartbeat(hub: configuration.notifications, interval: Heartbeat.interval),
        Upkeep(parts.rulebook, configuration, parts.metrics),
        AccessWatch(
          access: configuration.access, hub: configuration.notifications, logger: configuration.logger),
      ] + watches(certificate) + webhooks + traces,
      onServerRunning: { channel in
        phase.serve()
        readiness.succeed(Address(host: host, port: channel.localAddress?.port ?? port, isSecure: isSecure))
      },
      logger: configuration.logger)
  }

  /// Returns the builder of connections, each within the limits.
  private func connections(_ certificate: ServerCertificate?) -> HTTPServerBuilder {
    let (limits, departures) = (configuration.limits, departures)
    let http = HTTP1Channel.Configuration(
      additionalChannelHandlers: [DepartureHandler(departures)],
      idleTimeout: .milliseconds(Int64(limits.idleTimeout / .milliseconds(1))),
      httpDecoderConfiguration: .init(
        maxHeaderFieldSize: limits.headerSize, maxHeaderListSize: limits.headerSize,
        maxHeaderFieldCount: HeaderLimits.fields))
    return HTTPServerBuilder { [count = parts.metrics.connections] responder in
      GuardedChannel(
        base: HTTP1Channel(responder: responder, configuration: http), connections: count,
        terms: ConnectionPace.Terms(limits), departures: departures, certificate: certificate)
    }
  }

  /// Returns the services that read the certificate, the schema and secrets again when their files change.
  private func watches(_ certificate: ServerCertificate?) -> [any Service] {
    var watches: [any Service] = []
    if let certificate, let tls = configuration.tls {
      watches.append(
        FileWatch(
          [tls.certificate, tls.key], subject: "the TLS certificate", logger: configuration.logger,
          reload: { try certificate.reload() }))
    }
    if let schemaWatch { watches.append(schemaWatch) }
    return watches
      + configuration.watchedFiles.map { files in
        FileWatch(
          files.paths, since: files.versions, subject: files.subject, logger: configuration.logger,
          reload: files.reload)
      }
  }
}
