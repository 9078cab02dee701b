import BothyServer
import BothySync
import HTTPTypes
import Testing

/// What open event streams are told, how often, and what the server keeps for that.
@Suite("Hints")
struct HintTests {
  @Test("Hints that come faster than allowed are told as one, the first at once and the last not forgotten")
  func distance() async throws {
    let clock = ClockUnderTest()
    let issuer = IssuerUnderTest()
    let distance = Duration.milliseconds(150)
    var server = try ServerUnderTest(limits: .init(hintInterval: distance))
    server.configuration.access = try await issuer.access(JWTRules(leeway: .zero))
    server.configuration.now = { clock.now }
    let hints = server.configuration.hints
    let token = try await issuer.hs256(.init(exp: 50))
    try await server.run { call async throws in
      async let stream = call.with(token: token)(.get, "/v1/spaces/hut/events")
      while hints.streamCount == 0 { await Task.yield() }
      let begin = ContinuousClock.now
      while begin.duration(to: .now) < distance * 4 {
        hints.publish(space: "hut")
        await Task.yield()
      }
      let last = hints.lastID(space: "hut")
      while begin.duration(to: .now) < distance * 6 { await Task.yield() }
      let most = Int((begin.duration(to: .now) / distance).rounded(.up)) + 1
      clock.now = 50_000
      hints.publish(space: "hut")
      let text = try await stream.text
      let told = text.split(separator: "\n").filter { $0 == "event: news" }.count
      #expect(told >= 3 && told <= most, "\(told) of at most \(most)")
      #expect(text.contains("id: \(last)\n"))
    }
  }

  @Test(
    "Of spaces that nobody listens to only so many are remembered; who comes back is told of news in doubt")
  func bounded() async {
    let hub = HintHub()
    hub.publish(space: "followed")
    let before = hub.lastID(space: "followed")
    await hub.withSubscription(to: "followed") { _ in
      for number in 0..<HintHub.countLimit + 3 { hub.publish(space: "space \(number)") }
      #expect(hub.countedSpaces < HintHub.countLimit)
      #expect(hub.publishedCount == Int64(HintHub.countLimit) + 4)
      #expect(hub.lastID(space: "followed") != before)
    }
    let forgotten = hub.lastID(space: "space 0")
    hub.publish(space: "space 0")
    #expect(hub.lastID(space: "space 0") != forgotten)
    #expect(hub.lastID(space: "space 0") != before)
  }

  @Test("A stream that waits is told once of any number of hints")
  func joined() async {
    let hub = HintHub()
    await hub.withSubscription(to: "hut") { subscription in
      for _ in 0..<10 { hub.publish(space: "hut") }
      hub.publish(space: "another")
      #expect(await subscription.next() == .news)
      #expect(subscription.take() == [])
    }
    #expect(hub.streamCount == 0)
  }
}
