import BothyServer
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import HTTPTypes
import Testing

/// Event streams of a user who can't see all records of the space.
@Suite("Hints for visible changes alone", .timeLimit(.minutes(5)))
struct HiddenNotificationTests {
  private struct World {
    let server: ServerUnderTest
    let storage: CountedReads
    let clock: ClockUnderTest
    /// Bob's token, which ends at 50 seconds.
    let token: String
    /// The rules on the storage itself, whose calls count no reads.
    let ann: SyncService
  }

  private func world() async throws -> World {
    let permissions = Permissions(read: .owner)
    let schema = StoreSchema(types: [
      TypeSchema("Open", fields: [FieldSchema("title", .text)]),
      TypeSchema("Secret", fields: [FieldSchema("title", .text)], permissions: permissions),
    ])
    let (issuer, clock) = (IssuerUnderTest(), ClockUnderTest())
    let storage = CountedReads(base: try SQLiteServerStorage())
    let rules = AccessRules(schema: schema)
    var server = try ServerUnderTest(
      rules: rules, limits: .init(notificationInterval: .zero), storage: storage)
    server.configuration.access = try await issuer.access(JWTRules(leeway: .zero))
    server.configuration.now = { clock.now }
    return World(
      server: server, storage: storage, clock: clock,
      token: try await issuer.hs256(.init(sub: "bob", exp: 50)),
      ann: SyncService(storage: storage.base, rules: rules, now: { 1000 }))
  }

  /// Writes a record of Ann's, and waits until Bob's stream has looked for news.
  private func write(_ type: String, _ id: String, _ world: World) async throws {
    let before = world.storage.reads.value
    let change = BothySync.SyncOperation(
      id: "o", kind: .insert, record: RecordID(type: type, id: id), fields: ["title": "t"])
    let verdict = try await world.ann.perform(space: "hut", user: Caller("ann"), change)
    guard case .applied = verdict else {
      Issue.record("\(verdict)")
      return
    }
    world.server.configuration.notifications.publish(space: "hut")
    while world.storage.reads.value == before { await Task.yield() }
  }

  /// Opens Bob's stream, runs `body` while it is open, and returns its text.
  private func stream(
    _ world: World, lastSeen: String? = nil, _ body: @Sendable () async throws -> Void
  ) async throws -> String {
    let text = Locked("")
    world.clock.now = 1000
    let before = world.storage.reads.value
    try await world.server.run { call async throws in
      let name = try #require(HTTPField.Name("Last-Event-ID"))
      let headers: HTTPFields = lastSeen.map { [name: $0] } ?? [:]
      async let reply = call.with(token: world.token)(.get, "/v1/spaces/hut/events", nil, headers)
      // One read before the stream is open, and a look at its beginning.
      while world.storage.reads.value < before + 2 { await Task.yield() }
      try await body()
      world.clock.now = 50_000
      world.server.configuration.notifications.publish(space: "hut")
      text.value = try await reply.text
    }
    return text.value
  }

  private func ids(_ text: String) -> [String] {
    text.split(separator: "\n").filter { $0.hasPrefix("id: ") }.map { String($0.dropFirst(4)) }
  }

  /// Promises: A-34
  @Test("A stream is notified of changes that its caller sees, and of no others")
  func filtered() async throws {
    let world = try await world()
    let first = try await stream(world) {
      try await write("Secret", "s1", world)
      try await write("Open", "o1", world)
      try await write("Secret", "s2", world)
    }
    #expect(first.hasPrefix(": open"))
    #expect(first.split(separator: "\n").filter { $0 == "event: news" }.count == 1, "\(first)")
    let id = try #require(ids(first).first)
    let again = try await stream(world, lastSeen: id) { try await write("Secret", "s3", world) }
    #expect(!again.contains("news"), "nothing visible has changed since: \(again)")
    let late = try await stream(world, lastSeen: "0") {}
    #expect(ids(late) == [id])
  }

  @Test("The streams of a user look for news in the slots of its pulls")
  func slots() async throws {
    let storage = HeldReads(base: try SQLiteServerStorage())
    let permissions = Permissions(read: .owner)
    let schema = StoreSchema(types: [
      TypeSchema("Secret", fields: [FieldSchema("title", .text)], permissions: permissions)
    ])
    let (issuer, clock) = (IssuerUnderTest(), ClockUnderTest())
    var limits = ServerConfiguration.Limits(notificationInterval: .zero)
    limits.principalConcurrency = 1
    var server = try ServerUnderTest(rules: AccessRules(schema: schema), limits: limits, storage: storage)
    server.configuration.access = try await issuer.access(JWTRules(leeway: .zero))
    server.configuration.now = { clock.now }
    clock.now = 1000
    let token = try await issuer.hs256(.init(sub: "bob", exp: 50))
    let notifications = server.configuration.notifications
    try await server.run { call async throws in
      @Sendable func stream() async throws -> Int {
        try await call.with(token: token)(.get, "/v1/spaces/hut/events").status
      }
      async let first = stream()
      async let second = stream()
      async let third = stream()
      // Each reads once before it is open, and looks at its beginning.
      while storage.done.value < 6 { await Task.yield() }
      let gate = Latch()
      storage.gate.value = gate
      notifications.publish(space: "hut")
      let waiting = #"bothy_requests_waiting{kind="pull"} 2"#
      while storage.begun.value < 9, try await !call(.get, "/metrics").text.contains(waiting) {}
      while storage.begun.value < 7 { await Task.yield() }
      #expect(storage.begun.value == 7, "one of them looks, and the others wait")
      storage.gate.value = nil
      gate.open()
      while storage.done.value < 9 { await Task.yield() }
      clock.now = 50_000
      notifications.publish(space: "hut")
      #expect(try await [first, second, third] == [200, 200, 200])
    }
  }
}

/// A storage whose reads wait at a gate if it has one.
private struct HeldReads: ServerStorage {
  let base: SQLiteServerStorage
  let begun = Locked(0)
  let done = Locked(0)
  let gate = Locked<Latch?>(nil)

  var identity: String { base.identity }

  func write<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerTransaction) throws -> Result
  ) async throws -> Result { try await base.write(space: space, body) }

  func read<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> Result {
    begun.change { $0 += 1 }
    defer { done.change { $0 += 1 } }
    if let gate = gate.value { await gate.pass() }
    return try await base.read(space: space, body)
  }
}
