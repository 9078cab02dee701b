import BothyHTTP
import BothyLegacy
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Testing

@Suite("Tokens", .timeLimit(.minutes(5)))
struct TokenTests {
  private struct Parts {
    let transport: ServiceTransport
    let store: SyncedStore
    let time: VirtualTime
    let clock: VirtualClock
    /// The number of requests for a token.
    let asked: @Sendable () -> Int
  }

  /// Creates a store with `pending` new records. Its n-th token is the result of `token`.
  private func parts(
    pending: Int, _ configuration: SyncOptions = .quiet, url: String = "https://example.org",
    _ token: @escaping @Sendable (Int, VirtualTime) async throws -> AccessToken?
  ) throws -> Parts {
    let time = VirtualTime()
    let clock = VirtualClock()
    let transport = ServiceTransport(
      SyncService(storage: try SQLiteServerStorage(), now: time.reader()),
      users: ["good": "ann", "better": "ann"])
    let calls = Calls()
    let remote = BothyRemote(
      url: url, space: "hut", transport: transport, patience: RetryAfterPolicy(clock: clock),
      now: time.reader(),
      accessToken: { try await token(calls.add(), time) })
    let schema = StoreSchema(types: [TypeSchema("Todo", fields: [FieldSchema("title", .text)])])
    let store = try SyncedStore(
      at: nil, schema: schema, remote: remote, configuration: configuration,
      clock: SyncClock(now: time.reader()))
    try store.store.write { transaction in
      for number in 0..<pending {
        try transaction.insert(AnyRecord("Todo", id: "T\(number)", ["title": "x"]))
      }
    }
    return Parts(transport: transport, store: store, time: time, clock: clock, asked: { calls.count })
  }

  private static func small(_ preset: SyncOptions = .quiet) -> SyncOptions {
    var configuration = preset
    configuration.batchSize = 5
    configuration.pageSize = 5
    return configuration
  }

  /// Promises: S-85, H-40, C-2
  @Test("A token that stays refused is renewed once, and all changes stay pending")
  func refused() async throws {
    for preset in [SyncOptions.quiet, .stackMob, .ntiBridge] {
      let parts = try parts(pending: 20, preset) { number, _ in AccessToken("bad\(number)") }
      let report = await parts.store.sync(.both)
      #expect(report.stop?.name == "signInRequired")
      #expect(parts.asked() == 2)
      #expect(parts.transport.statuses == [401, 401])
      #expect(try parts.store.pendingCounts().insert == 20)
      #expect(report.rejected.isEmpty && report.overwritten.isEmpty)
      #expect(try parts.store.rejectedEntries().isEmpty)
    }
  }

  @Test("A token that can't be renewed offline counts as no network")
  func offline() async throws {
    let parts = try parts(pending: 2) { _, _ in throw URLError(.notConnectedToInternet) }
    #expect(await parts.store.sync().stop?.name == "unreachable")
    let found = try await parts.store.fetchResult(
      AnyQuery("Todo"), options: RequestOptions(readPolicy: .remoteElseLocal))
    #expect(found.count == 2 && found.origin == .local)
    let refused = try self.parts(pending: 1) { _, _ in throw URLError(.userAuthenticationRequired) }
    #expect(await refused.store.sync().stop?.name == "signInRequired")
  }

  /// Promises: S-85, Scenario-22
  @Test(
    "A token that expires in a sync is renewed, and the refused request repeated"
  )
  func midStream() async throws {
    let parts = try parts(pending: 20, Self.small()) { number, _ in
      AccessToken(number == 1 ? "good" : "better")
    }
    parts.transport.setScript { number in
      if number == 3 { parts.transport.setUsers(["better": "ann"]) }
      return nil
    }
    let report = await parts.store.sync()
    #expect(report.obstacle == nil && report.pushed == 20)
    #expect(parts.asked() == 2)
    #expect(parts.transport.statuses.count { $0 == 401 } == 1)
    #expect(parts.transport.statuses[2] == 401 && parts.transport.tokens[3] == "better")
    #expect(parts.transport.statuses.count == report.requests + 1)
  }

  /// Promises: S-85
  @Test("A sync requests one further token, not several in a row")
  func oncePerPass() async throws {
    let parts = try parts(pending: 20, Self.small()) { number, _ in AccessToken("t\(number)") }
    parts.transport.setUsers(["t1": "ann", "t2": "ann", "t3": "ann"])
    parts.transport.setScript { $0 == 2 || $0 == 4 ? TransportResponse(status: 401) : nil }
    let first = await parts.store.sync()
    #expect(first.stop?.name == "signInRequired")
    #expect(parts.asked() == 2)
    let left = try parts.store.pendingCounts().total
    #expect(left > 0 && left < 20)
    #expect(await parts.store.sync().obstacle == nil)
    #expect(try parts.store.pendingCounts().total == 0)
  }

  /// Promises: Scenario-22
  @Test("A token with a known expiry is renewed earlier, and no request is refused")
  func prefetch() async throws {
    let parts = try parts(pending: 1) { number, time in
      AccessToken(number == 1 ? "good" : "better", expiresAt: time.now + 600_000)
    }
    #expect(await parts.store.sync().obstacle == nil)
    parts.time.advance(by: 500_000)
    #expect(await parts.store.sync().obstacle == nil)
    #expect(parts.asked() == 1)
    parts.time.advance(by: 41_000)
    parts.transport.setUsers(["better": "ann"])
    #expect(await parts.store.sync().obstacle == nil)
    #expect(parts.asked() == 2)
    #expect(!parts.transport.statuses.contains(401))
  }

  @Test("A short-lived token is not requested with each request")
  func shortLife() async throws {
    let parts = try parts(pending: 20, Self.small()) { _, time in
      AccessToken("good", expiresAt: time.now + 10_000)
    }
    #expect(await parts.store.sync().obstacle == nil)
    #expect(parts.asked() == 1)
    parts.time.advance(by: 5_000)
    #expect(await parts.store.sync().obstacle == nil)
    #expect(parts.asked() == 2)
  }

  @Test("A clock ahead of a token's life requests no token with each request")
  func clockAhead() async throws {
    let parts = try parts(pending: 20, Self.small()) { number, time in
      AccessToken(number == 1 ? "good" : "better", expiresAt: time.now - 7_200_000)
    }
    #expect(await parts.store.sync().pushed == 20)
    #expect(parts.asked() == 1 && parts.transport.statuses.count > 2)
    parts.transport.setUsers(["better": "ann"])
    #expect(await parts.store.sync().obstacle == nil)
    #expect(parts.asked() == 2)
  }

  /// Promises: Scenario-22
  @Test(
    "The old token is used to its expiry, then changes wait for another")
  func refreshFails() async throws {
    struct NoToken: Error {}
    let parts = try parts(pending: 1) { number, time in
      guard number == 1 || number == 4 else { throw NoToken() }
      return AccessToken("good", expiresAt: time.now + 600_000)
    }
    #expect(await parts.store.sync().obstacle == nil)
    parts.time.advance(by: 590_000)
    #expect(await parts.store.sync().obstacle == nil)
    try await parts.store.store.write { try $0.insert(AnyRecord("Todo", id: "late", ["title": "x"])) }
    parts.time.advance(by: 20_000)
    #expect(await parts.store.sync().stop?.name == "signInRequired")
    #expect(try parts.store.pendingCounts().insert == 1)
    #expect(await parts.store.sync().pushed == 1)
  }

  @Test("A token's description does not contain its value")
  func silence() {
    let token = AccessToken("hush", expiresAt: 1)
    #expect(!"\(token) \(String(reflecting: token))".contains("hush"))
  }

  private static func busy(_ seconds: String?, status: Int = 503) -> TransportResponse {
    TransportResponse(status: status, headers: seconds.map { [.retryAfter: $0] } ?? [:])
  }

  /// Promises: H-42, X-6
  @Test("A busy server is tried three times at its times, on the given clock")
  func patience() async throws {
    let parts = try parts(pending: 1) { _, _ in AccessToken("good") }
    parts.transport.setScript { $0 <= 3 ? Self.busy("2") : nil }
    let sync = Task { await parts.store.sync() }
    for _ in 0..<3 {
      await parts.clock.waitForSleepers()
      #expect(parts.clock.sleepers == [.seconds(2)])
      parts.clock.advance(by: .seconds(2))
    }
    #expect(await sync.value.pushed == 1)
    #expect(parts.transport.statuses.filter { $0 == 503 }.count == 3)
  }

  /// Promises: H-42, X-6
  @Test("A busy server receives three repetitions at most, and none without a Retry-After")
  func stillBusy() async throws {
    let parts = try parts(pending: 1) { _, _ in AccessToken("good") }
    parts.transport.setScript { _ in Self.busy("2") }
    let sync = Task { await parts.store.sync() }
    for _ in 0..<3 {
      await parts.clock.waitForSleepers()
      parts.clock.advance(by: .seconds(2))
    }
    let report = await sync.value
    #expect(report.stop?.name == "throttled" && report.retryAfter == 2)
    #expect(parts.transport.statuses == [503, 503, 503, 503])
    #expect(try parts.store.pendingCounts().insert == 1)
    parts.transport.setScript { _ in Self.busy(nil) }
    #expect(await parts.store.sync().stop?.name == "unreachable")
    #expect(parts.transport.statuses.count == 5)
    parts.transport.setScript { _ in Self.busy("86400") }
    #expect(await parts.store.sync().stop?.name == "throttled")
    #expect(parts.transport.statuses.count == 6)
  }

  /// Promises: X-6
  @Test("A post that is not repeatable is never repeated")
  func notRepeatable() async throws {
    let url = "https://example.org"
    #expect(try await attempts(TransportRequest(.post, url)) == 1)
    #expect(try await attempts(TransportRequest(.patch, url)) == 1)
    #expect(try await attempts(TransportRequest(.get, url)) == 4)
    #expect(try await attempts(TransportRequest(.post, url, isRepeatable: true)) == 4)
  }

  /// Promises: H-42
  @Test(
    "A 503 or 429 is repeated at its time, another status is not",
    arguments: [(503, 4), (429, 4), (500, 1), (502, 1), (403, 1), (200, 1)])
  func busyStatuses(status: Int, count: Int) async throws {
    #expect(try await attempts(TransportRequest(.get, "https://example.org"), status: status) == count)
  }

  /// Sends a request to a server that always answers with this status and `Retry-After: 0`. Returns the number of
  /// requests that it receives.
  private func attempts(_ request: TransportRequest, status: Int = 503) async throws -> Int {
    let transport = ServiceTransport(
      SyncService(storage: try SQLiteServerStorage(), now: { 0 }), users: [:])
    transport.setScript { _ in Self.busy("0", status: status) }
    let guarded = GuardedTransport(
      transport: transport, patience: RetryAfterPolicy(clock: VirtualClock()), allowsHTTP: false)
    #expect(try await guarded.send(request).status == status)
    return transport.statuses.count
  }

  /// Promises: X-6
  @Test("Unencrypted addresses are refused, except on this machine or on purpose")
  func encryption() async throws {
    let authority = SyncService(storage: try SQLiteServerStorage(), now: { 0 })
    for (url, allowed, goes) in [
      ("http://example.org", false, false), ("HTTP://example.org", false, false),
      ("http://127.0.0.1.example.org", false, false), ("http://localhost.example.org", false, false),
      ("http://example.org", true, true), ("https://example.org", false, true),
      ("http://localhost:8080", false, true), ("http://127.0.0.1:8080", false, true),
      ("http://[::1]:80", false, true),
    ] {
      let transport = ServiceTransport(authority, users: ["good": "ann"])
      let remote = BothyRemote(
        url: url, space: "hut", transport: transport, allowsHTTP: allowed, token: { "good" })
      do {
        _ = try await remote.exchange(SyncRequest(device: "d", pulls: [.init(.everything)]))
        #expect(goes, "\(url) \(allowed)")
      } catch {
        #expect(!goes && error.code == "insecureAddress", "\(url) \(allowed): \(error)")
      }
      #expect(transport.tokens.isEmpty == !goes)
    }
  }
}
