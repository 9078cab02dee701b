import BothyCache
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Testing

@Suite("Fetching", .timeLimit(.minutes(5)))
struct FetcherTests {
  /// Promises: B-19e, B-33, R-30
  @Test(
    "A request is repeated after temporary statuses only",
    arguments: [
      (200, 1), (201, 1), (204, 1), (304, 1), (400, 1), (401, 1), (403, 1), (404, 1), (405, 1), (408, 3),
      (410, 1),
      (425, 3), (429, 3), (500, 3), (501, 1), (502, 3), (503, 3), (504, 3), (505, 1),
    ])
  func statuses(status: Int, requests: Int) async throws {
    let bench = FetchBench { _, _ in .init(status, "body") }
    let answer = try await bench.fetch()
    #expect(answer.status == status)
    #expect(bench.loader.requests.count == requests)
    #expect(answer.requests == requests)
  }

  /// Promises: B-19e
  @Test("A server's requested pause is respected, in seconds and as a date")
  func retryAfter() async throws {
    let date: HTTPFields = [
      .date: "Tue, 01 Jan 2030 00:00:00 GMT", .retryAfter: "Tue, 01 Jan 2030 00:00:30 GMT",
    ]
    for (busy, pause) in [
      (ScriptedLoader.Answer.busy(after: "2"), 2), (.busy(429, after: "7"), 7),
      (.init(503, fields: date), 30),
    ] {
      let bench = FetchBench { _, number in number == 1 ? busy : .init(200, "tile") }
      #expect(try await bench.fetch().body == Data("tile".utf8))
      #expect(bench.times.value.count == 2)
      #expect(bench.times.value[1] >= .seconds(pause))
    }
  }

  @Test(
    "A pause applies to all requests of a host, and impatient ones fail")
  func holds() async throws {
    let bench = FetchBench { _, number in number == 1 ? .busy(after: "120") : .init(200, "tile") }
    let hasty = FetchBench.order { $0.retry.patience = .seconds(10) }
    #expect(try await bench.fetch(hasty).status == 503)
    #expect(await bench.failure(hasty) == .notBefore(.seconds(120)))
    #expect(bench.loader.requests.count == 1)
    #expect(try await bench.fetch().status == 200)
    #expect(bench.times.value[1] >= .seconds(120))
  }

  @Test("Waits grow and are a random part of a bound, up to a limit")
  func backOff() async throws {
    for (part, waits) in [(1.0, [500, 1000, 2000, 3000, 3000]), (0.5, [250, 500, 1000, 1500, 1500])] {
      let bench = FetchBench(random: { part }) { _, _ in .init(500) }
      _ = try await bench.fetch(
        FetchBench.order { $0.retry = RetryRules(attempts: 6, limit: .seconds(3)) })
      let times = bench.times.value
      #expect(zip(times, times.dropFirst()).map { $1 - $0 } == waits.map { .milliseconds($0) })
    }
  }

  /// Promises: R-30
  @Test("A broken connection is tried again, but only once for `.once`")
  func connection() async throws {
    let bench = FetchBench { _, number in
      if number < 3 { throw LoadFailure(.unreachable, "No network.") }
      return .init(200, "tile")
    }
    #expect(try await bench.fetch().body == Data("tile".utf8))
    let down = FetchBench { _, _ in throw LoadFailure(.unreachable, "No network.") }
    #expect(await down.failure(FetchBench.order { $0.retry = .once }) == .unreachable)
    #expect(down.loader.requests.count == 1)
  }

  /// Promises: R-30
  @Test("A failure of the network is tried again, and one of the request isn't")
  func failures() async {
    let passing: [LoadFailure.Reason] = [.unreachable, .timedOut, .truncated]
    let lasting: [LoadFailure.Reason] = [
      .invalidRequest, .tooLarge(limit: 4), .redirectRefused, .unexpectedType("text/html"),
    ]
    for (reasons, requests) in [(passing, 3), (lasting, 1)] {
      for reason in reasons {
        let bench = FetchBench { _, _ in throw LoadFailure(reason, "It failed.") }
        #expect(await bench.failure() == reason)
        #expect(bench.loader.requests.count == requests, "\(reason)")
      }
    }
  }

  /// Promises: R-30
  @Test("A response without bytes is requested again if the source expects some")
  func noBytes() async throws {
    let late = FetchBench { _, number in number < 3 ? .init(200) : .init(200, "{}") }
    let order = FetchBench.order { $0.expectation = .json }
    #expect(try await late.fetch(order).body == Data("{}".utf8))
    #expect(late.loader.requests.count == 3)
    let never = FetchBench { _, _ in .init(200) }
    #expect(try await never.fetch(order).body.isEmpty)
    #expect(never.loader.requests.count == 3)
    #expect(try await never.fetch().body.isEmpty)
    #expect(never.loader.requests.count == 4, "other sources may have empty content")
  }

  @Test("A request that isn't safe is sent once")
  func unsafe() async throws {
    let bench = FetchBench { _, _ in .init(503) }
    let answer = try await bench.fetch(
      FetchBench.order {
        $0.method = .post
        $0.body = Data("x".utf8)
      })
    #expect(answer.status == 503)
    #expect(bench.loader.requests.map(\.body) == [Data("x".utf8)])
  }

  /// Promises: E-10
  @Test("A response that breaks off or has another length is never complete")
  func truncated() async throws {
    let short = FetchBench { _, _ in .init(200, fields: [.contentLength: "9"], "tile") }
    #expect(await short.failure() == .truncated)
    let long = FetchBench { _, _ in .init(200, fields: [.contentLength: "3"], "tile") }
    #expect(await long.failure() == .truncated)
    let broken = FetchBench { _, _ in
      var answer = ScriptedLoader.Answer(200, "tile")
      answer.breaksOff = LoadFailure(.truncated, "Gone.")
      return answer
    }
    #expect(await broken.failure() == .truncated)
    #expect(broken.loader.requests.count == 3, "it is tried again, whole")
    let unasked = FetchBench { _, _ in .init(206, fields: [.contentRange: "bytes 0-3/9"], "tile") }
    #expect(await unasked.failure() == .truncated)
  }

  @Test("A body that is too large is rejected and not requested again")
  func tooLarge() async throws {
    for fields in [[:], [.contentLength: "5"]] as [HTTPFields] {
      let bench = FetchBench { _, _ in .init(200, fields: fields, "12345") }
      #expect(await bench.failure(FetchBench.order { $0.bodyLimit = 4 }) == .tooLarge(limit: 4))
      #expect(bench.loader.requests.count == 1)
      #expect(try await bench.fetch(FetchBench.order { $0.bodyLimit = 5 }).body.count == 5)
    }
  }

  /// Promises: R-30
  @Test("A portal's page instead of a tile is rejected by its type")
  func portal() async throws {
    let bench = FetchBench { _, _ in .init(200, fields: [.contentType: "text/html"], "<html>Sign in</html>") }
    #expect(await bench.failure(FetchBench.order { $0.expectation = .json }) == .unexpectedType("text/html"))
    #expect(try await bench.fetch().status == 200, "nobody said what to expect")
  }

  @Test("Fields are sent unchanged, and conditions only if the caller sets them")
  func fields() async throws {
    let version = try #require(HTTPField.Name("App-Version"))
    let bench = FetchBench { _, _ in .init(200, "tile") }
    _ = try await bench.fetch(FetchBench.order { $0.fields[version] = "1.2" })
    _ = try await bench.fetch(FetchBench.order { $0.fields[.ifNoneMatch] = "W/\"a\"" })
    let sent = bench.loader.requests.map(\.fields)
    #expect(sent[0] == [.userAgent: "Tests/1 (tests.example)", version: "1.2"])
    #expect(sent[1] == [.userAgent: "Tests/1 (tests.example)", .ifNoneMatch: "W/\"a\""])
    #expect(bench.loader.requests.allSatisfy { $0.method == .get })
  }

  @Test("A request to a foreign server must identify the app")
  func userAgent() async throws {
    let bench = FetchBench { _, _ in .init(200, "tile") }
    #expect(await bench.failure(FetchBench.order { $0.fields[.userAgent] = nil }) == .invalidRequest)
    #expect(bench.loader.requests.isEmpty)
    let own = FetchBench.order {
      $0.fields[.userAgent] = nil
      $0.requiresUserAgent = false
    }
    #expect(try await bench.fetch(own).status == 200)
    #expect(await bench.failure(FetchBench.order("ftp://tiles.example/1")) == .invalidRequest)
  }

  @Test("A response that does not come or stops coming fails in time")
  func timeouts() async throws {
    let hanging = ScriptedLoader { _ in try await hang() }
    let clock = VirtualClock()
    let fetcher = Fetcher(hanging, clock: LoadClock(clock))
    let order = FetchBench.order {
      $0.timeout = .seconds(20)
      $0.retry = .once
    }
    let task = Task { try await fetcher.fetch(order, for: InFlightRequest()) }
    await clock.waitForSleepers()
    clock.advance(by: .seconds(19))
    #expect(fetcher.load.running == 1)
    clock.advance(by: .seconds(1))
    #expect(await task.failure == .timedOut)
    #expect(fetcher.load == (0, 0))
  }

  /// A network whose response has the pieces that a test sends.
  private struct FedLoader: ResourceLoader {
    let body: AsyncThrowingStream<Data, any Error>

    func load(_ request: ResourceRequest) async throws -> ResourceResponse {
      ResourceResponse(status: 200, fields: [:], body: body)
    }
  }

  @Test(
    "A body in single bytes fails in time, and one in kilobytes is whole",
    arguments: [1, 1024])
  func slowBody(piece: Int) async throws {
    let (body, feed) = AsyncThrowingStream.makeStream(of: Data.self, throwing: (any Error).self)
    let clock = VirtualClock()
    let fetcher = Fetcher(FedLoader(body: body), clock: LoadClock(clock))
    let order = FetchBench.order {
      $0.timeout = .seconds(20)
      $0.retry = .once
    }
    let (received, isDone) = (Locked<Int64>(0), Locked(false))
    let task = Task {
      defer { isDone.value = true }
      return try await RequestCoalescer<Int, FetchedResponse>().value(
        for: 1, progress: { received.value = $0.received }
      ) { inFlight async throws(LoadFailure) in
        try await fetcher.fetch(order, for: inFlight)
      }
    }
    await clock.waitForSleepers()
    for count in 1...5 {
      clock.advance(by: .seconds(10))
      feed.yield(Data(count: piece))
      // The watch for silence sleeps again before the clock moves on.
      try await until {
        isDone.value || received.value == Int64(count * piece) && !clock.sleepers.isEmpty
      }
    }
    feed.finish()
    #expect(await task.failure == (piece == 1 ? .timedOut : nil))
    if piece > 1 { #expect(received.value == 5120) }
  }

  @Test("A cancelled load stops, releases its place and fails as cancelled")
  func cancelled() async throws {
    let hanging = ScriptedLoader { _ in try await hang() }
    let fetcher = Fetcher(hanging, clock: LoadClock(VirtualClock()))
    let task = Task { try await fetcher.fetch(FetchBench.order(), for: InFlightRequest()) }
    try await until { fetcher.load.running == 1 && hanging.requests.count == 1 }
    task.cancel()
    #expect(await task.failure == .cancelled)
    #expect(fetcher.load == (0, 0))
  }

  /// Promises: R-33
  @Test(
    "A suspended network fails requests at once, and a resumed one sends them"
  )
  func suspension() async throws {
    let gate = Latch()
    let bench = FetchBench { _, number in
      if number == 1 { await gate.pass() }
      return .init(200, "tile")
    }
    let one = FetchBench.order { $0.limits = HostLimits(perHost: 1) }
    let running = Task { try await bench.fetcher.fetch(one, for: InFlightRequest()) }
    await gate.reached()
    let waiting = Task { try await bench.fetcher.fetch(one, for: InFlightRequest()) }
    try await until { bench.fetcher.load.waiting == 1 }
    bench.fetcher.suspend()
    #expect(await waiting.failure == .suspended)
    #expect(await bench.failure(one) == .suspended)
    gate.open()
    #expect(try await running.value.status == 200, "what was under way ends well")
    #expect(bench.loader.requests.count == 1)
    bench.fetcher.resume()
    #expect(try await bench.fetch(one).body == Data("tile".utf8))
  }
}
