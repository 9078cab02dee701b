import BothyCache
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Testing

@Suite("Limits of hosts", .timeLimit(.minutes(5)))
struct HostTests {
  /// Starts fetches that all hang in the loader until the latch opens.
  private func start(
    _ bench: FetchBench, _ count: Int, host: String = "tiles.example",
    priority: ResourceCache.Priority = .normal,
    limits: HostLimits = HostLimits(perHost: 2)
  ) -> [Task<FetchedResponse, any Error>] {
    (0..<count).map { number in
      Task {
        try await bench.fetcher.fetch(
          FetchBench.order("https://\(host)/\(priority)/\(number)") { $0.limits = limits },
          for: InFlightRequest(priority))
      }
    }
  }

  @Test("The limits of simultaneous requests hold for each host and in all")
  func concurrency() async throws {
    let gate = Latch()
    let bench = FetchBench(total: 5) { _, _ in
      await gate.pass()
      return .init(200)
    }
    var tasks: [Task<FetchedResponse, any Error>] = []
    for host in ["a.example", "b.example", "c.example"] { tasks += start(bench, 10, host: host) }
    try await until { bench.fetcher.load.running == 5 && bench.fetcher.load.waiting == 25 }
    gate.open()
    for task in tasks { #expect(try await task.value.status == 200) }
    #expect(bench.loader.most == 5)
    #expect(bench.loader.mostOfOneHost == 2)
    #expect(bench.fetcher.load == (0, 0))
  }

  @Test("Requests that wait for their turn at a thousand hosts all get it")
  func manyHosts() async throws {
    let gate = Latch()
    let bench = FetchBench(total: 1) { _, _ in
      await gate.pass()
      return .init(200)
    }
    let tasks = (0...1001).flatMap { start(bench, 1, host: "h\($0).example") }
    try await until { bench.fetcher.load.waiting == tasks.count - 1 }
    gate.open()
    try await until { bench.fetcher.load == (0, 0) }
    for task in tasks { #expect(try await task.value.status == 200) }
  }

  /// Promises: R-24
  @Test(
    "Urgent requests are sent first, and prefetches last with one place left free")
  func priorities() async throws {
    let gates = (0..<9).map { _ in Latch() }
    let bench = FetchBench { _, number in
      await gates[number - 1].pass()
      return .init(200)
    }
    let prefetch = start(bench, 4, priority: .prefetch)
    try await until { bench.loader.requests.count == 1 && bench.fetcher.load.waiting == 3 }
    let normal = start(bench, 3)
    try await until { bench.loader.requests.count == 2 && bench.fetcher.load.waiting == 5 }
    let visible = start(bench, 2, priority: .visible)
    try await until { bench.fetcher.load.waiting == 7 }
    // One answer at a time, so that the order of requests is that of their turns. The last normal one keeps prefetches
    // back, because they leave a place free.
    for (gate, sent) in zip(gates, [3, 4, 5, 6, 6, 7, 8, 9, 9]) {
      gate.open()
      try await until { bench.loader.requests.count == sent }
    }
    for task in prefetch + normal + visible { _ = try await task.value }
    let order = bench.loader.requests.map { $0.url.split(separator: "/")[2] }
    #expect(order[0] == "prefetch", "nothing else wanted to go")
    #expect(order[1] == "normal", "the place that was left free")
    #expect(order[2...3] == ["visible", "visible"])
    #expect(order[4...5] == ["normal", "normal"])
    #expect(order[6...] == ["prefetch", "prefetch", "prefetch"])
  }

  /// Promises: R-24
  @Test("A prefetch that a reader joins overtakes with the reader's priority")
  func upgrade() async throws {
    let gate = Latch()
    let bench = FetchBench { _, _ in
      await gate.pass()
      return .init(200)
    }
    let coalescer = RequestCoalescer<String, Int>()
    let one = HostLimits(perHost: 1)
    let first = start(bench, 1, limits: one)
    await gate.reached()
    func load(_ key: String, _ priority: ResourceCache.Priority) -> Task<Int, any Error> {
      Task {
        try await coalescer.value(for: key, priority: priority) { inFlight throws(LoadFailure) in
          try await bench.fetcher.fetch(
            FetchBench.order("https://tiles.example/\(key)") { $0.limits = one }, for: inFlight
          ).status
        }
      }
    }
    let wanted = load("wanted", .prefetch)
    try await until { bench.fetcher.load.waiting == 1 }
    let other = load("other", .normal)
    try await until { bench.fetcher.load.waiting == 2 }
    let joined = load("wanted", .visible)
    try await until { coalescer.waiterCount("wanted") == 2 }
    gate.open()
    for task in [wanted, other, joined] { #expect(try await task.value == 200) }
    _ = try await first[0].value
    #expect(bench.loader.requests.map { $0.url.split(separator: "/").last } == ["0", "wanted", "other"])
  }

  @Test("After a burst, a rate limits all hosts of a source together")
  func rate() async throws {
    let bench = FetchBench { _, _ in .init(200) }
    let limits = HostLimits(perHost: 6, ratePerSecond: 2, burst: 3)
    let tasks = (0..<9).map { number in
      Task {
        let order = FetchBench.order("https://\(number % 3).example/") {
          $0.limits = limits
          $0.rateGroup = "source"
        }
        return try await bench.fetcher.fetch(order, for: InFlightRequest())
      }
    }
    // The first requests note their times before the clock moves.
    try await until { bench.times.value.count == 3 && bench.fetcher.load.waiting == 6 }
    try await bench.moving { for task in tasks { _ = try await task.value } }
    let times = bench.times.value.map { Int(($0 / .milliseconds(1)).rounded()) }
    #expect(times.prefix(3) == [0, 0, 0])
    for (index, time) in times.enumerated().dropFirst(3) { #expect(time >= (index - 2) * 500 - 1) }
    #expect(times.count == 9)
  }

  /// Promises: A-75
  @Test("The rate of a provider holds for all of its hosts and sources together")
  func providerRate() async throws {
    let bench = FetchBench(total: 400) { _, _ in .init(200) }
    try await bench.moving {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<150 {
          let host = number % 3 == 0 ? "tiles.mapbox.com" : "api.mapbox.com:443"
          let order = FetchBench.order("https://\(host)/\(number)") {
            $0.limits = HostLimits(perHost: 400)
            $0.rateGroup = "source \(number % 2)"
          }
          group.addTask { _ = try await bench.fetcher.fetch(order, for: InFlightRequest()) }
        }
        try await group.waitForAll()
      }
    }
    let times = bench.times.value.map { Int(($0 / .milliseconds(1)).rounded()) }
    #expect(times.count == 150)
    for (index, time) in times.enumerated().dropFirst(100) { #expect(time >= (index - 99) * 10 - 1) }
  }

  @Test("New limits of a source hold from its next request on")
  func changedLimits() async throws {
    let gate = Latch()
    let bench = FetchBench { _, _ in
      await gate.pass()
      return .init(200)
    }
    let first = start(bench, 3, limits: HostLimits(perHost: 1, ratePerSecond: 0.001, burst: 1))
    try await until { bench.fetcher.load.running == 1 && bench.fetcher.load.waiting == 2 }
    let second = start(bench, 1, limits: HostLimits(perHost: 4))
    try await until { bench.fetcher.load.running == 4 }
    gate.open()
    for task in first + second { #expect(try await task.value.status == 200) }
    #expect(bench.times.value.allSatisfy { $0 == .zero })
  }

  @Test(
    "A host with repeated failures is paused, then probed by one request"
  )
  func circuit() async throws {
    let isUp = Locked(false)
    let probe = Latch()
    let bench = FetchBench(random: { 1 }) { _, _ in
      guard isUp.value else { throw LoadFailure(.unreachable, "Down.") }
      await probe.pass()
      return .init(200)
    }
    let once = FetchBench.order { $0.retry = .once }
    for _ in 0..<5 { #expect(await bench.failure(once) == .unreachable) }
    #expect(await bench.failure(once) == .notBefore(.seconds(1)))
    #expect(bench.loader.requests.count == 5)
    bench.clock.advance(by: .seconds(1))
    #expect(await bench.failure(once) == .unreachable, "the probe")
    #expect(await bench.failure(once) == .notBefore(.seconds(2)), "twice as long")
    isUp.change { $0 = true }
    bench.clock.advance(by: .seconds(2))
    let tasks = start(bench, 3, limits: HostLimits(perHost: 3))
    await probe.reached()
    try await until { bench.fetcher.load.waiting == 2 }
    #expect(bench.fetcher.load.running == 1)
    probe.open()
    for task in tasks { #expect(try await task.value.status == 200) }
    #expect(bench.loader.requests.count == 9)
  }

  /// Promises: E-25
  @Test("Requests that were running at a host's failure do not prolong its pause")
  func failuresUnderWay() async throws {
    let gate = Latch()
    let bench = FetchBench(random: { 1 }) { _, _ in
      await gate.pass()
      throw LoadFailure(.unreachable, "Down.")
    }
    let once = FetchBench.order {
      $0.retry = .once
      $0.limits = HostLimits(perHost: 8)
    }
    let tasks = (0..<8).map { _ in
      Task { try await bench.fetcher.fetch(once, for: InFlightRequest(.visible)) }
    }
    try await until { bench.fetcher.load.running == 8 }
    gate.open()
    for task in tasks { await #expect(throws: LoadFailure.self) { try await task.value } }
    #expect(await bench.failure(once) == .notBefore(.seconds(1)))
  }

  @Test("When the network comes back, hosts that were down are tried at once")
  func networkChanged() async throws {
    let isUp = Locked(false)
    let bench = FetchBench { _, _ in
      if !isUp.value { throw LoadFailure(.unreachable, "No network.") }
      return .init(200)
    }
    let once = FetchBench.order { $0.retry = .once }
    for _ in 0..<5 { _ = await bench.failure(once) }
    isUp.change { $0 = true }
    #expect(await bench.failure(once) != nil)
    bench.fetcher.networkChanged()
    #expect(try await bench.fetch(once).status == 200)
  }
}

@Suite("Alias hosts", .timeLimit(.minutes(5)))
struct AliasTests {
  private static let hosts = ["a.example", "b.example", "c.example"]

  private func order(_ path: String, _ change: (inout FetchOrder) -> Void = { _ in }) -> FetchOrder {
    var order = FetchBench.order(spread: path.utf8.fnv1a(), change: change)
    order.urls = Self.hosts.map { "https://\($0)/\(path)" }
    return order
  }

  private func host(_ request: ResourceRequest) -> String { URL(string: request.url)?.host ?? "" }

  /// Promises: R-12, B-35
  @Test("Each resource always uses one host, and all share the requested hosts")
  func spread() async throws {
    let bench = FetchBench { _, _ in .init(200) }
    for _ in 0..<2 {
      for tile in 0..<90 { _ = try await bench.fetch(order("3/\(tile)")) }
    }
    let asked = bench.loader.requests.map(host)
    #expect(Array(asked.prefix(90)) == Array(asked.suffix(90)))
    for host in Self.hosts { #expect((15...45).contains(asked.prefix(90).count { $0 == host })) }
    #expect("16/10472/22982".utf8.fnv1a() == 0x5655_c1df_01df_835d, "the same in every run")
    let two = FetchBench { _, _ in .init(200) }
    for tile in 0..<30 { _ = try await two.fetch(order("3/\(tile)") { $0.parallelHosts = 2 }) }
    #expect(Set(two.loader.requests.map(host)) == ["a.example", "b.example"])
  }

  /// Promises: E-25, B-35
  @Test("A host that is down is replaced by the next, and tried again later")
  func failover() async throws {
    let down = Locked<Set<String>>(["b.example"])
    let bench = FetchBench(random: { 1 }) { request, _ in
      if down.value.contains(URL(string: request.url)?.host ?? "") {
        throw LoadFailure(.unreachable, "Down.")
      }
      return .init(200)
    }
    for tile in 0..<60 { #expect(try await bench.fetch(order("3/\(tile)")).status == 200) }
    #expect(bench.loader.requests.count { host($0) == "b.example" } == 1, "asked once, then left alone")
    #expect(bench.loader.requests.count == 61)
    #expect(bench.times.value.last == .zero, "nobody waited")
    down.change { $0 = [] }
    bench.clock.advance(by: .seconds(1))
    let before = bench.loader.requests.count
    for tile in 0..<60 { _ = try await bench.fetch(order("3/\(tile)")) }
    #expect(bench.loader.requests.dropFirst(before).contains { host($0) == "b.example" })
    #expect(bench.loader.requests.count == before + 60)
  }

  /// Promises: E-25
  @Test("If all hosts are down, each is tried once and the network fails")
  func allDown() async throws {
    let bench = FetchBench { _, _ in throw LoadFailure(.unreachable, "Down.") }
    #expect(await bench.failure(order("1") { $0.retry = .once }) == .unreachable)
    #expect(Set(bench.loader.requests.map(host)) == Set(Self.hosts))
    #expect(bench.loader.requests.count == 3)
  }

  /// Promises: R-12
  @Test("A multiplexed connection uses one host only")
  func multiplexed() async throws {
    let bench = FetchBench { _, _ in
      var answer = ScriptedLoader.Answer(200)
      answer.isMultiplexed = true
      return answer
    }
    for tile in 0..<30 { _ = try await bench.fetch(order("3/\(tile)")) }
    #expect(bench.loader.requests.dropFirst().allSatisfy { host($0) == "a.example" })
  }

  @Test("A 429 of one host does not cause requests to the source's other hosts")
  func throttled() async throws {
    let bench = FetchBench { _, number in number == 1 ? .busy(429, after: "5") : .init(200) }
    _ = try await bench.fetch(order("1"))
    #expect(Set(bench.loader.requests.map(host)).count == 1)
    #expect(bench.times.value[1] >= .seconds(5))
  }
}
