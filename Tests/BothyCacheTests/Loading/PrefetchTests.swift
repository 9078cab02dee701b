import BothyCache
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

@Suite("Prefetch", .timeLimit(.minutes(10)))
struct PrefetchTests {
  /// Returns a prefetcher whose loads wait for the latch, and the items it has begun to load.
  private func prefetcher(
    _ policy: PrefetchPolicy = PrefetchPolicy(), gate: Latch = Latch()
  ) -> (Prefetcher<Int>, Locked<[Int]>) {
    let begun = Locked<[Int]>([])
    let prefetcher = Prefetcher<Int>(policy, isAllowed: { $0 < 1000 }) { item in
      begun.change { $0.append(item) }
      await gate.pass()
    }
    return (prefetcher, begun)
  }

  /// Promises: R-24
  @Test("The newest items are loaded first, each once, few at a time")
  func order() async throws {
    let gate = Latch()
    let (prefetcher, begun) = prefetcher(PrefetchPolicy(concurrentLoads: 2, remembered: 4), gate: gate)
    prefetcher.want([1, 2, 3, 4, 2])
    try await until { begun.value.count == 2 }
    #expect(prefetcher.counts == (waiting: 2, running: 2))
    let acceptance = prefetcher.want([5, 4, 1, 6, 7])
    #expect(acceptance.accepted == 4)
    #expect(acceptance.dropped == 1, "3 gave way")
    gate.open()
    await prefetcher.idle()
    #expect(Set(begun.value.prefix(2)) == [1, 2])
    #expect(Set(begun.value.dropFirst(2)) == [5, 4, 6, 7])
    #expect(begun.value.count == 6)
  }

  /// Promises: R-24
  @Test("A source that forbids bulk downloads is never prefetched")
  func forbidden() async throws {
    let gate = Latch()
    gate.open()
    let (prefetcher, begun) = prefetcher(gate: gate)
    #expect(prefetcher.want([1000, 1, 1001]).forbidden == 2)
    await prefetcher.idle()
    #expect(begun.value == [1])
  }

  /// Promises: R-24
  @Test(
    "Offline, metered, constrained or low-power devices start no loads, unless allowed",
    arguments: [
      (NetworkState.notReachable, PrefetchPolicy.Obstacle.offline, false),
      (NetworkState(isReachable: true, isExpensive: true), .metered, true),
      (NetworkState(isReachable: true, isConstrained: true), .constrained, true),
      (NetworkState(isReachable: true, isLowPower: true), .lowPower, true),
    ])
  func conditions(network: NetworkState, obstacle: PrefetchPolicy.Obstacle, canBeAllowed: Bool)
    async throws
  {
    let gate = Latch()
    gate.open()
    let (prefetcher, begun) = prefetcher(gate: gate)
    prefetcher.setNetwork(network)
    prefetcher.want([1, 2])
    await prefetcher.idle()
    #expect(prefetcher.obstacle == obstacle)
    #expect(begun.value.isEmpty)
    prefetcher.setPolicy(PrefetchPolicy(onMeteredNetworks: true, inLowPowerMode: true))
    await prefetcher.idle()
    #expect(begun.value.isEmpty == !canBeAllowed)
    prefetcher.setNetwork(.reachable)
    await prefetcher.idle()
    #expect(Set(begun.value) == [1, 2], "the wishes were kept")
  }

  @Test("An unknown network counts as one that is there and costs nothing")
  func unknownNetwork() {
    #expect(PrefetchPolicy().obstacle(.unknown) == nil)
    #expect(PrefetchPolicy().obstacle(NetworkState(isReachable: nil, isExpensive: true)) == .metered)
  }

  /// Promises: R-24
  @Test("The policy follows the loader's reported states, for every prefetcher of the cache")
  func following() async throws {
    let (states, network) = AsyncStream<NetworkState>.makeStream()
    let loader = ScriptedLoader(network: states) { .init(200, $0.url) }
    var source = try CacheRig.source("tiles")
    source.allowsBulkDownload = true
    let cache = try ResourceCache(sources: [source], loader: loader)
    let ahead = ResourcePrefetcher(cache)
    let generous = ResourcePrefetcher(cache, policy: PrefetchPolicy(onMeteredNetworks: true))
    #expect(ahead.obstacle == .offline, "nothing was said yet")
    ahead.want([try source.key(zoom: 16, x: 1, y: 1)])
    for (said, obstacle) in [
      (NetworkState(isReachable: true, isExpensive: true), PrefetchPolicy.Obstacle.metered),
      (NetworkState.notReachable, .offline),
      (NetworkState(isReachable: true, isConstrained: true), .constrained),
    ] {
      network.yield(said)
      let other: PrefetchPolicy.Obstacle? = said.isReachable == true ? nil : .offline
      // The prefetchers are told in any order.
      try await until { ahead.obstacle == obstacle && generous.obstacle == other }
      #expect(cache.networkState == said)
      await ahead.idle()
    }
    #expect(loader.requests.isEmpty && ResourcePrefetcher(cache).obstacle == .constrained)
    generous.want([try source.key(zoom: 16, x: 2, y: 2)])
    await generous.idle()
    #expect(loader.requests.count == 1)
    network.yield(.reachable)
    try await until { ahead.obstacle == nil }
    await ahead.idle()
    #expect(loader.requests.count == 2)
    try await cache.close()
  }

  @Test("A refresh of an old copy counts as running until its end")
  func unhurried() async throws {
    let (clock, time, gate) = (VirtualClock(), VirtualTime(), Latch())
    let log = Received<String>()
    let loader = ScriptedLoader { request in
      if log.values.contains(request.url) { await gate.pass() }
      log.append(request.url)
      return .init(200, request.url)
    }
    var source = try CacheRig.source("tiles")
    source.allowsBulkDownload = true
    let cache = try ResourceCache(
      sources: [source], loader: loader, clock: LoadClock(clock, wall: time.reader()))
    let (old, new) = (try source.key(zoom: 16, x: 1, y: 1), try source.key(zoom: 16, x: 2, y: 1))
    _ = try await cache.value(old)
    time.advance(by: 8 * 86_400_000)
    let ahead = ResourcePrefetcher(cache, policy: PrefetchPolicy(concurrentLoads: 1))
    ahead.want([old, new])
    await gate.reached()
    try await until { clock.sleepers.contains(.seconds(20)) }
    clock.advance(by: .seconds(3))
    // A load that began now would be noted before the refresh.
    for _ in 0..<100 { await Task.yield() }
    gate.open()
    await ahead.idle()
    #expect(log.values.map { $0.suffix(8) } == ["1/1.json", "1/1.json", "2/1.json"])
    try await cache.close()
  }

  @Test("A cancelled item that is wanted again is loaded after its old load")
  func wantedAgain() async throws {
    let gate = Latch()
    let (prefetcher, begun) = prefetcher(gate: gate)
    prefetcher.want([1])
    try await until { begun.value.count == 1 }
    prefetcher.cancelAll()
    #expect(prefetcher.want([1]).accepted == 1)
    #expect(prefetcher.counts == (waiting: 1, running: 1))
    gate.open()
    await prefetcher.idle()
    #expect(begun.value == [1, 1])
  }

  @Test(
    "A pause stops new loads, a resume continues, and a cancellation ends all"
  )
  func pausing() async throws {
    let gate = Latch()
    let (prefetcher, begun) = prefetcher(PrefetchPolicy(concurrentLoads: 1), gate: gate)
    prefetcher.want([1, 2, 3])
    await gate.reached()
    prefetcher.pause()
    gate.open()
    await prefetcher.idle()
    #expect(begun.value == [1])
    #expect(prefetcher.obstacle == .paused)
    prefetcher.resume()
    await prefetcher.idle()
    #expect(begun.value == [1, 2, 3])
    prefetcher.pause()
    prefetcher.want([4, 5])
    prefetcher.cancelAll()
    prefetcher.resume()
    await prefetcher.idle()
    #expect(begun.value == [1, 2, 3])
    prefetcher.setPolicy(PrefetchPolicy(isEnabled: false))
    #expect(prefetcher.obstacle == .switchedOff)
  }
}
