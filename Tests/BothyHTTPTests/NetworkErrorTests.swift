import BothyHTTP
import BothyStore
import BothySync
import BothyTesting
import HTTPTypes
import Synchronization
import Testing

/// Tests of failures of a real network, and of refusals by a server, as an app sees them.
@Suite("Failing networks", .timeLimit(.minutes(10)))
struct NetworkErrorTests {
  private let remoteElseLocal = RequestOptions(readPolicy: .remoteElseLocal)
  private let remoteThenLocal = RequestOptions(writePolicy: .remoteThenLocal)

  private func store(
    _ url: String, _ transport: any HTTPTransport, _ configuration: SyncOptions = .quiet,
    timeout: Duration = .seconds(100)
  ) throws -> SyncedStore {
    let store = try SyncedStore(
      at: nil, schema: StoreSchema(version: 1, Card.self),
      remote: BothyRemote(
        url: url, space: "hut", transport: transport, timeout: timeout,
        patience: RetryAfterPolicy(retries: 0),
        allowsHTTP: true),
      configuration: configuration)
    try store.store.write { try $0.insert(Card(id: "here", "kept")) }
    return store
  }

  private func isPending(_ store: SyncedStore, _ id: String) throws -> Bool {
    try store.outboxEntries().contains { $0.id.id == id }
  }

  /// Promises: H-22
  @Test("A closed port, an unknown name and a silent server count as unreachable")
  func noNetwork() async throws {
    let mute = try MuteServer()
    for url in ["http://127.0.0.1:1", "http://nowhere.invalid", "http://127.0.0.1:\(mute.port)"] {
      let store = try store(url, platformTransport(), timeout: .milliseconds(300))
      let found = try await store.fetchResult(RecordQuery<Card>(), options: remoteElseLocal)
      #expect(found.records.map(\.title) == ["kept"], "\(url)")
      #expect(found.origin == .local)
      let receipt = try await store.save(Card(id: "new", "made"), options: remoteThenLocal)
      #expect(receipt.known == .pending, "\(url)")
      #expect(try isPending(store, "new"))
      await #expect(throws: BothyError.self) {
        try await store.fetchResult(RecordQuery<Card>(), options: RequestOptions(readPolicy: .remote))
      }
    }
  }

  #if !canImport(Darwin)
    @Test("The error for a closed port has the system's words")
    func refusedConnection() async throws {
      let remote = BothyRemote(
        url: "http://127.0.0.1:1", space: "hut", transport: platformTransport(),
        patience: RetryAfterPolicy(retries: 0), allowsHTTP: true)
      let error = await #expect(throws: RemoteError.self) { try await remote.query(AnyQuery("Card")) }
      #expect(
        error?.message.hasSuffix("No answer came: Connection refused.") == true, "\(error?.message ?? "")")
    }

    @Test("The error for a server without TLS says so in plain words")
    func withoutTLS() async throws {
      try await RunningServer.run { server in
        let remote = BothyRemote(
          url: server.url.replacing("http:", with: "https:"), space: "hut", transport: platformTransport(),
          patience: RetryAfterPolicy(retries: 0))
        let error = await #expect(throws: RemoteError.self) { try await remote.query(AnyQuery("Card")) }
        #expect(error?.message == "No answer came: It doesn't use TLS, which https: needs.")
      }
    }

    @Test(
      "Errors of TLS have plain words, whatever the library says",
      arguments: [
        (
          "handshakeFailed(NIOSSL.BoringSSLError.sslError([Error: 268435581 error:1000007d:SSL "
            + "routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED at /b/swift-nio-ssl/handshake.cc:320]))",
          "Its TLS certificate isn't trusted here"
        ),
        (
          "NIOSSLExtraError.failedToValidateHostname: Couldn't find hut in certificate from peer",
          "Its TLS certificate is for another name"
        ),
        (
          "handshakeFailed(NIOSSL.BoringSSLError.sslError([Error: 268435703 error:100000f7:SSL "
            + "routines:OPENSSL_internal:WRONG_VERSION_NUMBER at /b/swift-nio-ssl/tls_record.cc:127]))",
          "It doesn't use TLS, which https: needs"
        ),
        ("uncleanShutdown", "TLS failed"),
      ])
    func tlsWords(_ text: String, _ words: String) {
      #expect(AsyncHTTPClientTransport.tlsReason(text) == words)
    }
  #endif

  /// Promises: H-22, H-30
  @Test(
    "A write whose response is lost stays pending and is applied once")
  func lostAnswer() async throws {
    try await RunningServer.run { server in
      let network = FaultyTransport(platformTransport())
      let store = try store(server.url, network)
      _ = await store.sync()
      network.setScript { _ in .lostAnswer }
      let receipt = try await store.save(Card(id: "new", "made"), options: remoteThenLocal)
      #expect(receipt.known == .pending)
      network.setScript { _ in .none }
      #expect(await store.sync().obstacle == nil)
      #expect(try store.outboxEntries().isEmpty)
      let records = try await server.remote().query(AnyQuery("Card"))
      #expect(Set(records.map(\.id.id)) == ["here", "new"])
      #expect(try await server.remote().digest(.everything).digest == store.digest().digest)
    }
  }

  /// Promises: H-21
  @Test(
    "A server's refusal is thrown, and does not count as a missing network",
    arguments: [500, 403, 400])
  func refusals(_ status: Int) async throws {
    let network = FaultyTransport(platformTransport())
    network.setScript { _ in .status(status) }
    let store = try store("http://127.0.0.1:1", network)
    await #expect(throws: BothyError.self) {
      try await store.fetchResult(RecordQuery<Card>(), options: remoteElseLocal)
    }
    await #expect(throws: BothyError.self) {
      try await store.save(Card(id: "new", "made"), options: remoteThenLocal)
    }
    #expect(try !isPending(store, "new"))
    #expect(try isPending(store, "here"))
  }

  /// Promises: H-42
  @Test("A busy server is tried again after the seconds or date it names")
  func throttled() async throws {
    for header in ["2", "Sat, 21 Nov 2026 05:38:52 GMT"] {
      try await RunningServer.run { server in
        let network = FaultyTransport(platformTransport())
        let asked = Mutex(0)
        network.setScript { _ in
          asked.withLock { asked in
            asked += 1
            return asked == 1 ? .status(503, retryAfter: header) : .none
          }
        }
        var configuration = SyncOptions.quiet
        configuration.triggers = [.save]
        let store = try store(server.url, network, configuration)
        let clock = VirtualClock()
        let loop = Task { await store.run(clock: clock) }
        try await store.save(Card(id: "new", "made"))
        await clock.waitForSleepers()
        #expect(clock.sleepers == [.seconds(2)])
        #expect(try isPending(store, "new"))
        #expect(network.requests.count == 1)
        clock.advance(by: .seconds(2))
        _ = try await store.syncCompletely()
        #expect(try store.outboxEntries().isEmpty)
        loop.cancel()
        await loop.value
      }
    }
  }
}
