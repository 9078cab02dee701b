import BothyServer
import BothyStore
import BothyTestSupport
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// Key sets at the address of an identity provider: discovery, new keys, strangers and an outage.
@Suite("Key sets of identity providers", .timeLimit(.minutes(5)))
struct JWTKeyAddressTests {
  /// A provider with responses by their address.
  private final class Provider: Sendable {
    struct Down: Error {}

    private let state = Mutex<(responses: [String: String], isDown: Bool, count: Int)>(([:], false, 0))
    /// True while requests get no response.
    let isSilent = Locked(false)
    /// The status and `Cache-Control` of all responses.
    let head = Locked((status: 200, cacheControl: String?("public, max-age=600")))

    var count: Int { state.withLock { $0.count } }
    var isDown: Bool {
      get { state.withLock { $0.isDown } }
      set { state.withLock { $0.isDown = newValue } }
    }

    func set(_ url: String, _ text: String) { state.withLock { $0.responses[url] = text } }

    func address(_ url: String) -> JWTKeyAddress {
      JWTKeyAddress(url: url) { [self] request in
        state.withLock { $0.count += 1 }
        while isSilent.value {
          try Task.checkCancellation()
          await Task.yield()
        }
        return try state.withLock { state in
          guard !state.isDown, let text = state.responses[request.url] else { throw Down() }
          let (status, cacheControl) = head.value
          return OutboundResponse(
            status: status, headers: cacheControl.map { ["cache-control": $0] } ?? [:], body: Array(text.utf8)
          )
        }
      }
    }
  }

  private static let keys = "https://id.example/keys"
  private static let metadata = "https://id.example/.well-known/openid-configuration"
  private let clock = ClockUnderTest()
  private let provider = Provider()

  private func access(_ url: String, _ rules: JWTRules = JWTRules()) async throws -> Authentication {
    clock.now = 0
    return try await Authentication(
      reading: AccessFiles(keyAddress: provider.address(url), rules: rules, read: { _ in [] }),
      now: { [clock] in clock.now })
  }

  private func run(
    _ access: Authentication,
    _ body: @Sendable (@escaping @Sendable (String) async throws -> Int) async throws -> Void
  ) async throws {
    var server = try ServerUnderTest()
    server.configuration.access = access
    server.configuration.now = { [clock] in clock.now }
    try await server.run { call async throws in
      try await body { try await call.with(token: $0)(.get, "/v1/spaces/hut/changes").status }
    }
  }

  @Test("The metadata of a provider name the keys and the issuer")
  func discovery() async throws {
    let issuer = IssuerUnderTest()
    provider.set(Self.metadata, #"{"issuer":"https://id.example","jwks_uri":"\#(Self.keys)"}"#)
    provider.set(Self.keys, issuer.keySet)
    try await run(access(Self.metadata)) { status async throws in
      #expect(try await status(issuer.es256(.init(exp: 1e9, iss: "https://id.example"))) == 200)
      #expect(try await status(issuer.es256(.init(exp: 1e9, iss: "https://other.example"))) == 401)
      #expect(try await status(issuer.es256(.init(exp: 1e9))) == 401)
    }
    let other = JWTRules(issuer: "https://other.example")
    await #expect(throws: BothyError.self) { try await access(Self.metadata, other) }
  }

  /// Promises: A-11
  @Test("A new key is requested when a token has it, once a minute")
  func rotation() async throws {
    let (old, new) = (IssuerUnderTest(), IssuerUnderTest())
    provider.set(Self.keys, old.keySet)
    let access = try await access(Self.keys)
    let provider = provider
    try await run(access) { status async throws in
      #expect(try await status(old.es256(.init(exp: 1e9))) == 200)
      provider.set(Self.keys, new.keySet)
      clock.now = 59_999
      #expect(try await status(new.es256(.init(exp: 1e9))) == 401)
      #expect(provider.count == 1)
      clock.now = 60_000
      #expect(try await status(new.es256(.init(exp: 1e9))) == 200)
      #expect(try await status(old.es256(.init(exp: 1e9))) == 401)
      #expect(provider.count == 2)
      clock.now = 200_000
      for _ in 0..<20 { #expect(try await status(IssuerUnderTest().es256(.init(exp: 1e9))) == 401) }
      #expect(provider.count == 3)
    }
  }

  @Test("Keys are requested again after the clock was set back")
  func clockSetBack() async throws {
    let (old, new) = (IssuerUnderTest(), IssuerUnderTest())
    provider.set(Self.keys, old.keySet)
    let access = try await access(Self.keys)
    clock.now = 700_000
    #expect(try await !access.reload())
    provider.set(Self.keys, new.keySet)
    clock.now = 100_000
    #expect(try await access.reload())
    #expect(try await !access.reload())
    #expect(provider.count == 3)
  }

  @Test("Keys are requested again when they have expired")
  func freshness() async throws {
    let (old, new) = (IssuerUnderTest(), IssuerUnderTest())
    provider.set(Self.keys, old.keySet)
    let access = try await access(Self.keys)
    provider.set(Self.keys, new.keySet)
    clock.now = 599_999
    #expect(try await !access.reload())
    clock.now = 600_000
    #expect(try await access.reload())
    #expect(try await !access.reload())
    #expect(provider.count == 2)
  }

  @Test(
    "Keys are fresh as Cache-Control says, within five minutes and a day",
    arguments: [
      ("max-age=7200", 7200), ("public, Max-Age=\"400\"", 400), ("max-age=1", 300),
      ("max-age=9999999", 86_400),
      ("no-store", 3600), (nil, 3600),
    ] as [(String?, Int64)])
  func lifetime(cacheControl: String?, seconds: Int64) async throws {
    provider.head.value.cacheControl = cacheControl
    provider.set(Self.keys, IssuerUnderTest().keySet)
    let access = try await access(Self.keys)
    provider.set(Self.keys, IssuerUnderTest().keySet)
    clock.now = seconds * 1000 - 1
    #expect(try await !access.reload())
    clock.now += 1
    #expect(try await access.reload())
  }

  @Test("A response with another status than 200 has no keys")
  func status() async throws {
    provider.set(Self.keys, IssuerUnderTest().keySet)
    for status in [203, 304, 404, 500] {
      provider.head.value.status = status
      let error = await #expect(throws: BothyError.self) { try await access(Self.keys) }
      #expect(error?.code == .serverError && error?.message.contains("status \(status)") == true)
    }
  }

  /// Promises: A-11
  @Test("While the provider is down its keys are used for a day, no longer")
  func outage() async throws {
    let issuer = IssuerUnderTest()
    provider.set(Self.keys, issuer.keySet)
    let access = try await access(Self.keys)
    let provider = provider
    provider.isDown = true
    clock.now = 86_399_999
    let error = await #expect(throws: BothyError.self) { try await access.reload() }
    #expect(error?.code == .unreachable)
    try await run(access) { status async throws in
      let token = try await issuer.es256(.init(exp: 1e9))
      #expect(try await status(token) == 200)
      clock.now = 86_460_000
      // The server looks for new keys too, and while it does a call does nothing.
      while try await status(token) != 401 { _ = try? await access.reload() }
      provider.isDown = false
      clock.now = 86_520_000
      while try await status(token) != 200 { _ = try? await access.reload() }
    }
  }

  @Test("A key set is requested with TLS, or from this machine")
  func tls() async throws {
    for url in ["http://id.example/keys", "http://localhost.example/keys", "ftp://id.example/keys"] {
      provider.set(url, IssuerUnderTest().keySet)
      await #expect(throws: BothyError.self, "\(url)") { try await access(url) }
    }
    #expect(provider.count == 0)
    provider.set("http://127.0.0.1:8080/keys", IssuerUnderTest().keySet)
    _ = try await access("http://127.0.0.1:8080/keys")
    provider.set(Self.metadata, #"{"issuer":"i","jwks_uri":"http://id.example/keys"}"#)
    await #expect(throws: BothyError.self) { try await access(Self.metadata) }
  }

  @Test("Tokens with a new key that come together wait for one request of it")
  func together() async throws {
    let (old, new) = (IssuerUnderTest(), IssuerUnderTest())
    provider.set(Self.keys, old.keySet)
    let (provider, clock, looks) = (provider, clock, Locked(0))
    clock.now = 0
    let access = try await Authentication(
      reading: AccessFiles(keyAddress: provider.address(Self.keys), read: { _ in [] }),
      now: {
        looks.change { $0 += 1 }
        return clock.now
      })
    provider.set(Self.keys, new.keySet)
    provider.isSilent.value = true
    clock.now = 60_000
    let token = try await new.es256(.init(exp: 1e9))
    try await run(access) { status async throws in
      let before = looks.value
      let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<8 { group.addTask { try await status(token) } }
        // Each token with an unknown key looks at the clock.
        while looks.value < before + 8 { await Task.yield() }
        provider.isSilent.value = false
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(statuses == Array(repeating: 200, count: 8))
      #expect(provider.count == 2)
    }
  }

  private func access(beside folder: TileFolderUnderTest) async throws -> Authentication {
    clock.now = 0
    return try await Authentication(
      reading: AccessFiles(
        tokens: folder.path + "/tokens.json", keyAddress: provider.address(Self.keys),
        read: { Array(try Data(contentsOf: URL(filePath: $0))) }), now: { [clock] in clock.now })
  }

  @Test("A provider that doesn't answer delays no change of the tokens file")
  func silence() async throws {
    let folder = try TileFolderUnderTest()
    try folder.write("tokens.json", #"[{"token":"t","principal":"ada","spaces":["hut"]}]"#)
    provider.set(Self.keys, IssuerUnderTest().keySet)
    let provider = provider
    var server = try ServerUnderTest()
    server.configuration.access = try await access(beside: folder)
    provider.isSilent.value = true
    defer { provider.isSilent.value = false }
    clock.now = 600_000
    try await server.run { call async throws in
      async let stream = call.with(token: "t")(.get, "/v1/spaces/hut/events")
      while provider.count == 1 { await Task.yield() }
      try folder.write("tokens.json", #"[{"token":"other","principal":"ada","spaces":["hut"]}]"#)
      // The server checks every second, and nothing else ends the stream.
      #expect(try await stream.status == 200)
      #expect(try await call.with(token: "t")(.get, "/v1/spaces/hut/changes").status == 401)
      #expect(provider.isSilent.value)
    }
  }

  @Test("A tokens file that can't be used holds back no new keys")
  func mistake() async throws {
    let folder = try TileFolderUnderTest()
    let (old, new) = (IssuerUnderTest(), IssuerUnderTest())
    try folder.write("tokens.json", #"[{"token":"t","principal":"ada","spaces":["hut"]}]"#)
    provider.set(Self.keys, old.keySet)
    let access = try await access(beside: folder)
    try folder.write("tokens.json", "[{")
    await #expect(throws: (any Error).self) { try await access.reload() }
    provider.set(Self.keys, new.keySet)
    clock.now = 60_000
    try await run(access) { status async throws in
      #expect(try await status(new.es256(.init(exp: 1e9))) == 200)
      #expect(try await status("t") == 200)
    }
  }
}
