import BothyHTTP
import BothyServer
import BothySync
import BothySyncService
import HTTPTypes
import Logging
import ServiceLifecycle

/// A server on a real socket of this machine while `body` runs. It is stopped gracefully afterwards.
struct RunningServer: Sendable {
  let url: String
  let group: ServiceGroup
  let server: BothyServer

  static func run(
    tokens: String? = nil, limits: ServerConfiguration.Limits = .init(), storage: (any ServerStorage)? = nil,
    rules: AccessRules = AccessRules(), blobs: (any BlobFileStorage)? = nil,
    _ body: @escaping @Sendable (RunningServer) async throws -> Void
  ) async throws {
    var logger = Logger(label: "test")
    logger.logLevel = .critical
    let server = BothyServer(
      ServerConfiguration(
        port: 0, storage: try storage ?? SQLiteServerStorage(), rules: rules, blobs: blobs,
        access: try tokens.map { Authentication(tokens: try TokenTable(json: $0)) },
        limits: limits, logger: logger))
    let group = ServiceGroup(configuration: .init(services: [server], logger: logger))
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      tasks.addTask { try await group.run() }
      let url = try await server.ready().url
      do {
        try await body(RunningServer(url: url, group: group, server: server))
      } catch {
        await group.triggerGracefulShutdown()
        throw error
      }
      await group.triggerGracefulShutdown()
      try await tasks.waitForAll()
    }
  }

  func remote(_ space: String = "hut", token: String? = nil) -> BothyRemote {
    BothyRemote(
      url: url, space: space, transport: platformTransport(compression: false), timeout: .seconds(100),
      token: { token })
  }
}
