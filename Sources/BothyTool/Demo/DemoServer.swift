import BothyHTTP
import BothyServer
import BothyStore
import BothySync
import BothySyncService
import Foundation
import Logging
import ServiceLifecycle

/// The demo's server, a real one on a loopback port with its spaces in a file.
struct DemoServer: Sendable {
  let path: String
  /// The schema against which it validates records.
  var schema = DemoInput.schema

  /// Runs the server during `body`, on `port` or, for 0, on a free port. Then shuts it down and closes the file.
  func whileServing<Result>(
    on port: Int = 0, _ body: (BothyServer.Address) async throws -> Result
  ) async throws -> Result {
    let storage = try SQLiteServerStorage(at: path)
    var logger = Logger(label: "bothy.server")
    logger.logLevel = .error
    let server = BothyServer(
      ServerConfiguration(
        port: port, storage: storage, rules: AccessRules(schema: schema), logger: logger))
    let services = ServiceGroup(
      configuration: ServiceGroupConfiguration(services: [server], logger: logger))
    let result = try await withThrowingTaskGroup(of: Void.self) { tasks in
      tasks.addTask { try await services.run() }
      let result = try await body(try await server.ready())
      await services.triggerGracefulShutdown()
      try await tasks.waitForAll()
      return result
    }
    try storage.close()
    return result
  }
}

/// One of the demo's devices: a database file that syncs over HTTP.
struct DemoDevice: Sendable {
  let name: String
  let store: SyncedStore

  init(_ name: String, folder: String, server: String) throws {
    self.name = name
    let address = RemoteAddress(url: server, space: "demo", token: nil)
    let path = "\(folder)/\(name.lowercased()).bothy"
    _ = try PrivateFile.create(at: path)
    var configuration = SyncOptions()
    configuration.merging = MergePolicies(default: .fieldByField)
    store = try SyncedStore(
      at: path, schema: DemoInput.schema, remote: RemoteConnection(to: address).remote,
      configuration: configuration)
    try store.remember(address)
  }

  func place(_ id: String) throws -> AnyRecord? { try store.store.record(RecordID(type: "Place", id: id)) }

  func edit(_ id: String, _ fields: [String: FieldValue]) async throws {
    try await store.save(AnyRecord("Place", id: id, fields), options: RequestOptions(writePolicy: .local))
  }

  func delete(_ id: String) async throws {
    try await store.delete(RecordID(type: "Place", id: id), options: RequestOptions(writePolicy: .local))
  }
}
