import BothyServer
import BothySync
import HTTPTypes
import Logging
import Testing

/// The notifications of open event streams, their rate, and the memory that the server uses for them.
@Suite("Notifications", .timeLimit(.minutes(5)))
struct NotificationTests {
  @Test("The first notification is sent at once, the next after the interval")
  func pace() {
    var pace = NotificationPace(interval: .milliseconds(200))
    let start = ContinuousClock.now
    #expect(pace.moment(after: start) == nil)
    pace.reported(at: start)
    let next = start.advanced(by: .milliseconds(200))
    #expect(pace.moment(after: start) == next)
    #expect(pace.moment(after: start.advanced(by: .milliseconds(199))) == next)
    #expect(pace.moment(after: next) == nil)
    pace.reported(at: next)
    #expect(pace.moment(after: next) == next.advanced(by: .milliseconds(200)))
    var unhurried = NotificationPace(interval: .zero)
    unhurried.reported(at: start)
    #expect(unhurried.moment(after: start) == nil)
  }

  @Test("A stream receives notifications at most at its interval, however often others write")
  func distance() async throws {
    let distance = Duration.milliseconds(100)
    let (server, clock, token) = try await IssuerUnderTest().serverWithEndingToken(
      limits: .init(notificationInterval: distance))
    let notifications = server.configuration.notifications
    try await server.run { call async throws in
      async let stream = call.with(token: token)(.get, "/v1/spaces/hut/events")
      while notifications.streamCount == 0 { await Task.yield() }
      let begin = ContinuousClock.now
      while begin.duration(to: .now) < distance * 4 {
        notifications.publish(space: "hut")
        await Task.yield()
      }
      clock.now = 50_000
      notifications.publish(space: "hut")
      let text = try await stream.text
      let most = Int((begin.duration(to: .now) / distance).rounded(.up)) + 1
      let reported = text.split(separator: "\n").filter { $0 == "event: news" }.count
      #expect(reported <= most, "\(reported) of at most \(most)")
      #expect(text.hasPrefix(": open"))
    }
  }

  @Test("A stream is notified of news that came after its head was made")
  func gap() async throws {
    var server = try ServerUnderTest()
    let notifications = server.configuration.notifications
    server.configuration.logger = Logger(label: "test") { _ in PublishingLog(notifications: notifications) }
    try await ConnectedServer.run(server.configuration) { server async throws in
      try await server.line { line async throws in
        try await line.send("GET /v1/spaces/hut/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        var text = ""
        while !text.contains("event: news"), !text.contains(": alive") { text += try await line.text(1) }
        #expect(text.contains(": open") && text.contains("event: news"), "\(text)")
      }
    }
  }

  @Test(
    "Counts of spaces without streams are bounded, and returning streams are notified if unsure")
  func bounded() async {
    let hub = ChangeNotifier()
    hub.publish(space: "followed")
    let before = hub.lastID(space: "followed")
    await hub.withSubscription(to: "followed") { _ in
      for number in 0..<ChangeNotifier.countLimit + 3 { hub.publish(space: "space \(number)") }
      #expect(hub.countedSpaces < ChangeNotifier.countLimit)
      #expect(hub.publishedCount == Int64(ChangeNotifier.countLimit) + 4)
      #expect(hub.lastID(space: "followed") != before)
    }
    let forgotten = hub.lastID(space: "space 0")
    hub.publish(space: "space 0")
    #expect(hub.lastID(space: "space 0") != forgotten)
    #expect(hub.lastID(space: "space 0") != before)
  }

  @Test("A waiting stream receives any number of notifications as one")
  func joined() async {
    let hub = ChangeNotifier()
    await hub.withSubscription(to: "hut") { subscription in
      for _ in 0..<10 { hub.publish(space: "hut") }
      hub.publish(space: "another")
      #expect(await subscription.next() == .news)
      #expect(subscription.take() == [])
    }
    #expect(hub.streamCount == 0)
  }
}

/// A log that publishes news with the line of a request, which is written before its stream begins.
private struct PublishingLog: LogHandler {
  let notifications: ChangeNotifier
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.info

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    if "\(event.message)" == "request" { notifications.publish(space: "hut") }
  }
}
