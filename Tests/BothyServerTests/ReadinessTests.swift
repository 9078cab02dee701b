import BothyServer
import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Foundation
import HTTPTypes
import Logging
import ServiceLifecycle
import Testing

@Suite("Liveness and readiness", .timeLimit(.minutes(5)))
struct ReadinessTests {
  @Test("A server that does not listen yet is alive, healthy and not ready")
  func starting() async throws {
    try await ServerUnderTest().run { call async throws in
      let ready = try await call(.get, "/readyz")
      #expect(ready.status == 503 && ready.headers[.retryAfter] == "1")
      #expect(try ready.code() == "unavailable")
      let live = try await call(.get, "/livez")
      #expect(live.status == 200 && live.text == #"{"status":"ok"}"#)
      #expect(try await call(.get, "/healthz").status == 200)
    }
  }

  @Test("A server that is about to stop answers, and is not ready")
  func draining() async throws {
    var limits = ServerConfiguration.Limits()
    limits.drainTime = .seconds(3600)
    let configuration = try ServerUnderTest(limits: limits).configuration
    try await ConnectedServer.run(configuration, isCancelled: true) { server async throws in
      #expect(try await server.get("/readyz").status == 200)
      await server.group.triggerGracefulShutdown()
      while try await server.get("/readyz").status == 200 { await Task.yield() }
      #expect(try await server.get("/readyz").text.contains("about to stop"))
      #expect(try await server.get("/livez").status == 200)
      #expect(try await server.get("/healthz").status == 200)
      #expect(try await server.get("/v1/spaces/hut/changes").status == 200)
    }
  }

  @Test("A shutdown without a drain time ends the server")
  func shutdown() async throws {
    let configuration = try ServerUnderTest().configuration
    try await ConnectedServer.run(configuration) { server async throws in
      #expect(try await server.get("/readyz").status == 200)
    }
  }

  @Test("While the database hangs the server is alive, and not ready within the limit")
  func hanging() async throws {
    let storage = try SilentStorage()
    var limits = ServerConfiguration.Limits()
    limits.healthTime = .milliseconds(50)
    let configuration = try ServerUnderTest(limits: limits, storage: storage).configuration
    try await ConnectedServer.run(configuration) { server async throws in
      #expect(try await server.get("/readyz").status == 503)
      #expect(try await server.get("/healthz").status == 503)
      #expect(try await server.get("/livez").status == 200)
      storage.goOn()
      while try await server.get("/readyz").status != 200 { await Task.yield() }
    }
  }

  @Test("A server older than its database is not ready, and its log says so")
  func outdated() async throws {
    let log = LogUnderTest()
    var configuration = try ServerUnderTest(storage: OutdatedStorage()).configuration
    configuration.logger = log.logger()
    try await ConnectedServer.run(configuration) { server async throws in
      for path in ["/readyz", "/healthz", "/v1/spaces/hut/changes"] {
        let reply = try await server.get(path)
        #expect(reply.status == 503 && reply.text.contains(#""code":"outdated""#), "\(path) \(reply.text)")
      }
      #expect(try await server.get("/livez").status == 200)
    }
    #expect(log.lines.contains { $0.level == .error && $0.metadata["error"]?.contains("Update it") ?? false })
  }

  @Test("A full disk leaves a server ready, because pulls go on")
  func fullDisk() async throws {
    let configuration = try ServerUnderTest(storage: FullStorage()).configuration
    try await ConnectedServer.run(configuration) { server async throws in
      #expect(try await server.get("/healthz").status == 503)
      #expect(try await server.get("/readyz").status == 200)
    }
  }
}

/// A storage that a newer server has changed.
private struct OutdatedStorage: ServerStorage {
  let identity = "outdated"
  private let error = BothyError(.newerFile, "The tables need a newer server. Update it.")

  func write<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerTransaction) throws -> Result
  ) async throws -> Result { throw error }

  func read<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> Result { throw error }
}

/// A storage whose check doesn't respond until the test releases it.
private final class SilentStorage: ServerStorage {
  private let storage: SQLiteServerStorage
  private let gate = Latch()

  init() throws { storage = try SQLiteServerStorage() }

  var identity: String { storage.identity }

  func check() async throws { await gate.pass() }

  func goOn() { gate.open() }

  func write<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerTransaction) throws -> Result
  ) async throws -> Result { try await storage.write(space: space, body) }

  func read<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> Result { try await storage.read(space: space, body) }
}

/// A storage whose disk is full.
private struct FullStorage: ServerStorage {
  let identity = "full"

  func check() async throws { throw BothyError(.diskFull, "The disk is full.") }

  func write<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerTransaction) throws -> Result
  ) async throws -> Result { throw BothyError(.diskFull, "The disk is full.") }

  func read<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> Result { throw CancellationError() }
}
