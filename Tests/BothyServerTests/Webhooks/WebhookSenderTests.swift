import BothyServer
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import HTTPTypes
import Testing

@Suite("Deliveries of webhooks", .timeLimit(.minutes(5)))
struct WebhookSenderTests {
  private func webhook(
    types: [String] = [], spaces: [String] = [], name: String = "webhook"
  ) throws -> Webhook {
    try Webhook(
      name: name, url: "https://example.org/x", secret: WebhookTests.secret, types: types, spaces: spaces)
  }

  @Test("A change is delivered by a hint, signed, and noted")
  func notify() async throws {
    let world = try WebhookWorld()
    let sender = try world.sender()
    await world.run(sender)
    try await world.write("a")
    sender.news(space: "s")
    await world.run(sender)
    let delivery = try #require(world.taken.value.first)
    #expect(delivery.changes == [.init(space: "s", position: 1, record: "a", version: 1)])
    #expect(delivery.signature.hasPrefix("v1,") && delivery.id.count == 32 && !delivery.isReset)
    let state = try #require(try await world.base.state(of: "webhook", in: "s"))
    #expect(!state.isBehind && state.progress.deliveredAt == world.time.now)
    sender.news(space: "s")
    await world.run(sender)
    #expect(world.attempts.value == 1, "an idle space costs no delivery")
  }

  @Test("Without a hint a search finds the change within its interval")
  func search() async throws {
    let world = try WebhookWorld()
    try await world.write("a")
    let sender = try world.sender()
    await world.run(sender)
    #expect(world.positions() == [1])
    try await world.write("b")
    await world.run(sender)
    #expect(world.positions() == [1])
    let moment = try #require(sender.moment)
    #expect(moment == world.time.now + 60_000)
    world.time.advance(by: 60_000)
    await world.run(sender)
    #expect(world.positions() == [1, 2])
  }

  @Test("A clock years ahead stops deliveries of no process", arguments: ["server", "other"])
  func clockAhead(holder: String) async throws {
    let world = try WebhookWorld()
    try await world.write("a")
    let first = try world.sender(isAlone: false)
    let ahead = 3000 * RetentionPolicy.day
    world.time.advance(by: ahead)
    world.treat(.refuse(status: 500))
    await world.run(first)
    #expect(world.attempts.value == 1)
    world.time.advance(by: -ahead)
    world.treat(.take)
    let second = holder == "server" ? first : try world.sender(holder: holder, isAlone: false)
    await world.run(second)
    #expect(world.positions() == [1])
    try await world.write("b")
    world.time.advance(by: 60_000)
    await world.run(second)
    #expect(world.positions() == [1, 2], "a search finds it")
  }

  @Test("Two servers on one file take turns, and a restart keeps their names")
  func oneFile() async throws {
    let folder = try TemporaryFolder()
    var first: WebhookHolder? = WebhookHolder(lock: folder.file("webhooks"))
    let second = WebhookHolder(lock: folder.file("webhooks"))
    #expect(first?.name == "server" && first?.isAlone == true)
    #expect(second.name != "server" && !second.isAlone)
    let world = try WebhookWorld()
    try await world.write("a")
    await world.run(try world.sender())
    try await world.write("b")
    await world.run(try world.sender(holder: second.name, isAlone: second.isAlone))
    #expect(world.positions() == [1], "the first has its claim")
    first = nil
    #expect(WebhookHolder(lock: folder.file("webhooks")).name == "server")
  }

  @Test("Only the chosen types and spaces are delivered, and the rest counts as delivered")
  func selection() async throws {
    let world = try WebhookWorld()
    try await world.write("a", in: "team-1")
    try await world.write("b", in: "team-1", type: "Invoice")
    try await world.write("c", in: "home", type: "Invoice")
    try await world.write("d", in: "team-2")
    let sender = try world.sender(webhook(types: ["Invoice"], spaces: ["team-*"]))
    await world.run(sender)
    #expect(world.taken.value.flatMap(\.changes).map(\.record) == ["b"])
    #expect(world.attempts.value == 1)
    let states = try await world.base.states(of: "webhook", after: "", limit: 9)
    #expect(states.filter { !$0.isBehind }.map(\.head.space) == ["team-1", "team-2"])
  }

  /// Promises: A-24
  @Test("A failed delivery is repeated with growing waits, with the id that it had")
  func repeated() async throws {
    let world = try WebhookWorld()
    try await world.write("a")
    let sender = try world.sender()
    world.treat(.takeSilently)
    var waits: [Int64] = []
    for _ in 0..<4 {
      await world.run(sender)
      let next = try #require(sender.moment) - world.time.now
      waits.append(next)
      world.time.advance(by: next)
    }
    #expect(waits == [550, 1100, 2200, 4400], "random waits around half of the bound")
    let state = try #require(try await world.base.state(of: "webhook", in: "s"))
    #expect(state.progress.failures == 4 && state.isBehind)
    world.treat(.take)
    await world.run(sender)
    #expect(world.positions() == [1, 1, 1, 1, 1])
    #expect(Set(world.taken.value.map(\.id)).count == 1, "so that a receiver can drop repetitions")
    #expect(try await world.base.state(of: "webhook", in: "s")?.progress.failures == 0)
    #expect(world.log.lines.filter { $0.message == "a webhook's receiver failed" }.count == 3)
    #expect(!world.log.text.contains("title"))
  }

  @Test("Redirects and refusals are failures, and Retry-After is respected up to an hour")
  func retryAfter() async throws {
    for status in [301, 400, 404, 500, 503] {
      let world = try WebhookWorld()
      try await world.write("a")
      let sender = try world.sender()
      world.treat(.refuse(status: status, retryAfter: .seconds(status == 503 ? 90_000 : 40)))
      await world.run(sender)
      let state = try #require(try await world.base.state(of: "webhook", in: "s"))
      let wait: Int64 = status == 503 ? 3_600_000 : 40_000
      #expect(state.isBehind && state.heldUntil == world.time.now + wait, "\(status)")
    }
  }

  @Test("After 410 a webhook gets nothing until the next start")
  func gone() async throws {
    let world = try WebhookWorld()
    for space in ["a", "b"] { try await world.write("1", in: space) }
    world.treat(.refuse(status: 410))
    let sender = try world.sender()
    await world.run(sender)
    world.time.advance(by: 1_000_000)
    sender.news(space: "b")
    await world.run(sender)
    #expect(world.attempts.value == 1 && sender.isDisabled)
    #expect(world.metrics.prometheusText.contains(#"bothy_webhook_disabled{webhook="webhook"} 1"#))
    world.treat(.take)
    try await world.finish(try world.sender())
    #expect(world.positions("a") == [1] && world.positions("b") == [1])
  }

  /// Promises: A-23
  @Test("A process that dies between delivery and note repeats the delivery, and loses nothing")
  func killed() async throws {
    let world = try WebhookWorld()
    for id in ["a", "b"] { try await world.write(id) }
    world.treat(.takeAndKill)
    await world.run(try world.sender())
    world.treat(.take)
    try await world.write("c")
    await world.run(try world.sender())
    #expect(world.positions() == [1, 2, 1, 2, 3])
  }

  @Test("Another process takes a space over when the claim ends, and not before")
  func takenOver() async throws {
    let world = try WebhookWorld()
    try await world.write("a")
    world.treat(.takeAndKill)
    await world.run(try world.sender(holder: "a", isAlone: false))
    world.treat(.take)
    let second = try world.sender(holder: "b", isAlone: false)
    await world.run(second)
    #expect(world.attempts.value == 1)
    world.time.advance(by: 29_999)
    second.news(space: "s")
    await world.run(second)
    #expect(world.attempts.value == 1)
    world.time.advance(by: 1)
    await world.run(second)
    #expect(world.positions() == [1, 1])
    #expect(Set(world.taken.value.map(\.id)).count == 1)
    let state = try #require(try await world.base.state(of: "webhook", in: "s"))
    #expect(state.heldUntil == 0, "what is delivered is held by none")
  }

  @Test("A new epoch is a reset, and deliveries go on from there")
  func epoch() async throws {
    let world = try WebhookWorld()
    let sender = try world.sender()
    try await world.write("a")
    await world.run(sender)
    try await world.base.startEpoch(space: "s")
    try await world.finish(sender)
    let reset = try #require(world.taken.value.last)
    #expect(world.taken.value.count == 2 && reset.isReset && reset.changes.isEmpty)
    #expect(reset.epoch != world.taken.value[0].epoch)
    let position = try await world.write("b")
    try await world.finish(sender)
    #expect(world.positions() == [1, position] && world.taken.value.last?.isReset == false)
  }

  @Test("Deletions that were forgotten before their delivery are told as incomplete")
  func compaction() async throws {
    let world = try WebhookWorld()
    let sender = try world.sender()
    try await world.write("a")
    await world.run(sender)
    try await world.write("a", base: 1, delete: true)
    try await world.base.compact(space: "s", upTo: 2)
    try await world.finish(sender)
    let last = try #require(world.taken.value.last)
    #expect(last.isIncomplete && last.changes.map(\.position) == [2] && last.changes[0].version == 0)
  }

  @Test("A new webhook isn't told of deletions forgotten before its first delivery")
  func compactionBefore() async throws {
    let world = try WebhookWorld()
    for id in ["a", "b", "c"] { try await world.write(id) }
    try await world.write("a", base: 1, delete: true)
    try await world.base.compact(space: "s", upTo: 4)
    let sender = try world.sender { $0.changes = 1 }
    try await world.finish(sender)
    #expect(world.positions().last == 4 && world.taken.value.count > 1)
    #expect(world.taken.value.allSatisfy { !$0.isIncomplete })
  }

  @Test("A first delivery in parts is told of deletions forgotten meanwhile")
  func compactionMeanwhile() async throws {
    let world = try WebhookWorld()
    for id in ["a", "b", "c"] { try await world.write(id) }
    let sender = try world.sender { $0.changes = 1 }
    while world.taken.value.isEmpty { guard await sender.step() else { break } }
    try await world.write("a", base: 1, delete: true)
    try await world.base.compact(space: "s", upTo: 4)
    try await world.finish(sender)
    #expect(world.positions() == [1, 2, 3, 4])
    #expect(world.taken.value.map(\.isIncomplete) == [false, true, true, true])
  }

  /// Promises: A-21
  @Test("A webhook of other types is notified of forgotten deletions too")
  func compactionOfOthers() async throws {
    let world = try WebhookWorld()
    let sender = try world.sender(webhook(types: ["Invoice"]))
    try await world.write("a")
    await world.run(sender)
    try await world.write("a", base: 1, delete: true)
    try await world.base.compact(space: "s", upTo: 2)
    try await world.finish(sender)
    #expect(world.taken.value.map(\.isIncomplete) == [true])
    #expect(world.taken.value.allSatisfy { $0.changes.isEmpty })
  }

  /// Promises: A-24
  @Test("Batches of other places, spaces and webhooks have other ids")
  func ids() async throws {
    let world = try WebhookWorld()
    for space in ["s", "t"] { try await world.write("a", in: space) }
    let sender = try world.sender()
    try await world.finish(sender)
    try await world.finish(try world.sender(webhook(name: "other")), hook: "other")
    try await world.write("b")
    sender.news(space: "s")
    try await world.finish(sender)
    #expect(world.taken.value.count == 5)
    #expect(Set(world.taken.value.map(\.id)).count == 5)
  }

  @Test("A search finds the spaces of all its pages")
  func manySpaces() async throws {
    let world = try WebhookWorld()
    for number in 0..<501 { try await world.write("a", in: "s\(number)") }
    await world.run(try world.sender())
    #expect(world.attempts.value == 501)
  }

  @Test("An operator's rewind delivers again, and a skip leaves out")
  func placed() async throws {
    let world = try WebhookWorld()
    let sender = try world.sender()
    for id in ["a", "b"] { try await world.write(id) }
    await world.run(sender)
    let head = try #require(try await world.base.state(of: "webhook", in: "s")).head.head
    try await world.base.place("webhook", in: "s", at: FeedPosition(epoch: head.epoch, position: 1))
    try await world.finish(sender)
    #expect(world.positions() == [1, 2, 2])
    try await world.write("c")
    let end = try #require(try await world.base.state(of: "webhook", in: "s")).head.head
    try await world.base.place("webhook", in: "s", at: end)
    sender.news(space: "s")
    try await world.finish(sender)
    #expect(world.positions() == [1, 2, 2])
  }

  @Test("A batch is bounded by bytes and by changes")
  func batches() async throws {
    let world = try WebhookWorld()
    let text = String(repeating: "x", count: 10_000)
    for number in 0..<40 { try await world.write("n\(number)", text: text) }
    try await world.finish(try world.sender { $0.bytes = 50_000 })
    #expect(world.positions() == Array(1...40))
    #expect(world.taken.value.allSatisfy { $0.bytes < 75_000 && $0.changes.count <= 5 })
    world.taken.value = []
    let sender = try world.sender(webhook(name: "other")) { $0.changes = 7 }
    try await world.finish(sender, hook: "other")
    #expect(world.positions() == Array(1...40))
    #expect(world.taken.value.map(\.changes.count) == [7, 7, 7, 7, 7, 5])
  }

  @Test("Spaces beyond the remembered number are found again")
  func capacity() async throws {
    let world = try WebhookWorld()
    for number in 0..<30 { try await world.write("a", in: "s\(number)") }
    let sender = try world.sender { $0.capacity = 4 }
    for number in 0..<30 { sender.news(space: "s\(number)") }
    try await world.finish(sender)
    #expect((0..<30).allSatisfy { world.positions("s\($0)") == [1] })
    #expect(world.attempts.value == 30)
  }

  /// Promises: A-25
  @Test("A space that always fails doesn't hold back the others for long")
  func poison() async throws {
    let world = try WebhookWorld()
    var version = try await world.write("a", in: "good")
    try await world.write("a", in: "bad")
    world.treat(by: { $0 == "bad" ? .refuse(status: 500) : .take })
    let sender = try world.sender()
    await world.run(sender)
    for number in 0..<20 {
      version = try await world.write("a", in: "good", base: version, text: "\(number)")
      sender.news(space: "good")
      await world.pass(60_000, sender)
      #expect(world.positions("good").last == version)
    }
    #expect(world.positions("bad").isEmpty)
    let text = world.metrics.prometheusText
    #expect(text.contains(#"bothy_webhook_failing_spaces{webhook="webhook"} 1"#))
    #expect(text.contains(#"bothy_webhook_changes_total{webhook="webhook"} 21"#))
    world.treat(.take)
    try await world.finish(sender)
    #expect(world.positions("bad") == [1])
    #expect(world.metrics.prometheusText.contains(#"bothy_webhook_lag_seconds{webhook="webhook"} 0"#))
  }

  @Test("A write over HTTP reaches the receiver of a running server")
  func server() async throws {
    let received = Locked<[OutboundRequest]>([])
    let (reported, tell) = AsyncStream.makeStream(of: Void.self)
    var server = try ServerUnderTest()
    server.configuration.webhooks = WebhookSettings([try webhook()], holder: "server", isAlone: true) {
      request in
      received.change { $0.append(request) }
      tell.yield()
      return OutboundResponse(status: 200)
    }
    try await server.run { call async throws in
      #expect(try await call(.put, "/v1/spaces/hut/records/T/1", #"{"fields":{}}"#).status == 201)
      for await _ in reported { break }
    }
    let body = try JSONValue(parsing: try #require(received.value.first).body)
    #expect(body["space"] == "hut" && body["changes"]?.arrayValue?.first?["id"] == "1")
  }
}
