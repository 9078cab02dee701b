import BothyServer
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import HTTPTypes
import Logging
import Testing

/// A back end that hangs, fails or is asked much at a time, and what that does to requests and open streams.
@Suite("Outages of the call-out about spaces", .timeLimit(.minutes(5)))
struct SpaceOutageTests {
  private static let hut = "/v1/spaces/hut/changes"
  private static let team = "/v1/spaces/team/changes"

  /// Promises: A-79
  @Test("During an outage, known spaces are open for a stated time, then 503")
  func kept() async throws {
    let world = try await SpaceWorld()
    try await world.server.run { call async throws in
      let ann = try await call.with(token: world.token())
      let bob = try await call.with(token: world.token("bob"))
      #expect(try await ann(.get, Self.hut).status == 200)
      world.fail()
      world.time.now += 300_000
      for _ in 0..<3 { #expect(try await ann(.get, Self.hut).status == 200) }
      #expect(world.asked == ["ann", "ann"], "it isn't asked again at once")
      // A space that was closed may be open by now, and a user without an answer may be anyone.
      #expect(try await ann(.get, Self.team).status == 503)
      for _ in 0..<3 { #expect(try await bob(.get, Self.hut).status == 503) }
      #expect(world.asked == ["ann", "ann", "bob"])
      world.time.now += 5000
      #expect(try await ann(.get, Self.hut).status == 200)
      #expect(world.asked.count == 4)
      world.time.now = 1000 + 3_600_000
      let late = try await ann(.get, Self.hut)
      #expect(late.status == 503 && late.headers[.retryAfter] == "5")
      world.open(["hut": "write"])
      world.time.now += 5000
      #expect(try await ann(.get, Self.hut).status == 200)
      #expect(try await bob(.get, Self.hut).status == 200)
      let text = try await call(.get, "/metrics").text
      for line in [
        #"bothy_space_looks_total{result="asked"} 3"#, #"bothy_space_looks_total{result="kept"} 4"#,
        #"bothy_space_looks_total{result="unavailable"} 5"#, "bothy_space_outages_total 4",
        "bothy_space_seconds_count 7", #"bothy_refusals_total{reason="spaces"} 5"#,
      ] {
        #expect(text.contains(line), "\(line)")
      }
    }
    let lines = world.log.lines.filter { $0.message.hasPrefix("the back end") }
    #expect(lines.first?.level == .warning && lines.first?.metadata["reason"]?.contains("500") == true)
    #expect(lines.last?.message == "the back end says again which spaces are open")
  }

  @Test("A back end that hangs is given up, and closes no known space")
  func hangs() async throws {
    let clock = VirtualClock()
    let world = try await SpaceWorld(clock: clock)
    try await world.server.run { call async throws in
      let ann = try await call.with(token: world.token())
      let bob = try await call.with(token: world.token("bob"))
      #expect(try await ann(.get, Self.hut).status == 200)
      world.backEnd.set { _ in
        try await clock.sleep(for: .seconds(3600))
        return SpaceWorld.opening([:])
      }
      world.time.now += 300_000
      async let known = ann(.get, Self.hut)
      async let unknown = bob(.get, Self.hut)
      await clock.waitForSleepers(4)
      clock.advance(by: .seconds(2))
      #expect(try await known.status == 200)
      #expect(try await unknown.status == 503)
      #expect(clock.sleepers.isEmpty, "the questions were cancelled")
      let cleo = try await call.with(token: world.token("cleo"))
      #expect(try await cleo(.get, Self.hut).status == 503)
      #expect(world.asked.count == 3, "after a silence no one is asked about for a second")
    }
  }

  /// Promises: A-78
  @Test("A storm of one user's requests is one question, whose answer all wait for")
  func storm() async throws {
    let latch = Latch()
    let world = try await SpaceWorld { _ in
      await latch.pass()
      return SpaceWorld.opening(["hut": "write"])
    }
    try await world.server.run { call async throws in
      let ann = try await call.with(token: world.token())
      let replies = try await withThrowingTaskGroup(of: Int.self) { tasks in
        for _ in 0..<100 { tasks.addTask { try await ann(.get, Self.hut).status } }
        await latch.reached()
        latch.open()
        return try await tasks.reduce(into: []) { $0.append($1) }
      }
      #expect(replies == Array(repeating: 200, count: 100))
    }
    #expect(world.asked == ["ann"])
  }

  @Test("Questions about many users wait for places, as many at a time as allowed")
  func manyUsers() async throws {
    let (running, most) = (Locked(0), Locked(0))
    var limits = SpaceCallout.Limits()
    limits.requests = 4
    let world = try await SpaceWorld(limits: limits) { _ in
      let count = running.change { value in
        value += 1
        return value
      }
      most.change { $0 = max($0, count) }
      for _ in 0..<10 { await Task.yield() }
      running.change { $0 -= 1 }
      return SpaceWorld.opening(["hut": "write"])
    }
    try await world.server.run { call async throws in
      try await withThrowingTaskGroup(of: Int.self) { tasks in
        for number in 0..<100 {
          let user = try await call.with(token: world.token("user\(number)"))
          tasks.addTask { try await user(.get, Self.hut).status }
        }
        for try await status in tasks { #expect(status == 200) }
      }
    }
    #expect(most.value <= 4 && world.asked.count == 100)
  }

  // MARK: streams

  private static let events = "/v1/spaces/hut/events"

  /// Promises: A-78
  @Test("An event stream ends when its space is withdrawn")
  func withdrawn() async throws {
    let world = try await SpaceWorld()
    let notifications = world.server.configuration.notifications
    try await world.server.run { call async throws in
      let ann = try await call.with(token: world.token())
      async let stream = ann(.get, Self.events)
      try await until { notifications.streamCount == 1 }
      world.open([:])
      world.time.now += 300_000
      notifications.publish(space: "hut")
      let reply = try await stream
      #expect(reply.status == 200 && !reply.text.contains("event: news"), "\(reply.text)")
      #expect(try await ann(.get, Self.events).status == 403)
    }
  }

  /// Promises: A-79
  @Test("An event stream goes on while an answer is kept, and ends after that")
  func keptStream() async throws {
    let world = try await SpaceWorld()
    let notifications = world.server.configuration.notifications
    try await world.server.run { call async throws in
      let ann = try await call.with(token: world.token())
      async let stream = ann(.get, Self.events)
      try await until { notifications.streamCount == 1 }
      world.fail()
      world.time.now += 300_000
      notifications.publish(space: "hut")
      let kept = #"bothy_space_looks_total{result="kept"} 1"#
      while try await !call(.get, "/metrics").text.contains(kept) { await Task.yield() }
      #expect(notifications.streamCount == 1)
      world.time.now += 3_600_000
      notifications.publish(space: "hut")
      #expect(try await stream.status == 200)
      #expect(try await ann(.get, Self.events).status == 503)
    }
  }

  @Test("A feed's wait for changes brings nothing of a withdrawn space")
  func feed() async throws {
    var world = try await SpaceWorld()
    world.server.configuration.feedGroup = "staff"
    let notifications = world.server.configuration.notifications
    try await world.server.run { [world] call async throws in
      let staff = try await call.with(token: world.token("robot", groups: ["staff"]))
      let spaces = try await staff(.get, "/v1/spaces").json()["spaces"]?.arrayValue
      #expect(spaces?.isEmpty == true, "nothing was written yet")
      // A page without a cursor says that it begins, and waits for nothing.
      let first = try await staff(.get, "/v1/spaces/hut/feed").json()
      let cursor = try #require(first["cursor"]?.stringValue)
      async let page = staff(.get, "/v1/spaces/hut/feed?wait=30&after=\(cursor)")
      try await until { notifications.streamCount == 1 }
      world.open([:])
      world.time.now += 300_000
      let record = #"{"fields":{"title":"t"}}"#
      let written = try await call.with(token: "service")(.put, "/v1/spaces/hut/records/T/1", record)
      #expect(written.status == 201)
      #expect(try await page.json()["changes"]?.arrayValue?.isEmpty == true)
      #expect(try await staff(.get, "/v1/spaces/hut/feed").status == 403)
      #expect(world.asked.count == 2)
    }
  }
}
