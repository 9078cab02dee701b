import BothyCache
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// Tests with random callers of random keys that join, change priority and leave, over hosts that sometimes fail.
@Suite("Loading with random callers", .timeLimit(.minutes(10)))
struct LoadingPropertyTests {
  /// The seeds to run. `BOTHY_SEEDS` sets their number, and `BOTHY_SEED` runs one alone.
  private static let seeds: [UInt64] = {
    let environment = ProcessInfo.processInfo.environment
    if let one = environment["BOTHY_SEED"].flatMap({ UInt64($0) }) { return [one] }
    return Array(1...(environment["BOTHY_SEEDS"].flatMap { UInt64($0) } ?? 200))
  }()

  /// Counts running requests, and draws random numbers.
  private final class Watch: Sendable {
    struct State {
      var random: SeededGenerator
      var ofKey: [String: Int] = [:]
      var ofHost: [String: Int] = [:]
      var most = (key: 0, host: 0, total: 0)
    }
    let state: Mutex<State>
    init(_ seed: UInt64) { state = Mutex(State(random: SeededGenerator(seed: seed))) }

    func enter(_ key: String, _ host: String) {
      state.withLock { state in
        state.ofKey[key, default: 0] += 1
        state.ofHost[host, default: 0] += 1
        state.most.key = max(state.most.key, state.ofKey[key] ?? 0)
        state.most.host = max(state.most.host, state.ofHost[host] ?? 0)
        state.most.total = max(state.most.total, state.ofHost.values.reduce(0, +))
      }
    }

    func leave(_ key: String, _ host: String) {
      state.withLock { state in
        state.ofKey[key, default: 0] -= 1
        state.ofHost[host, default: 0] -= 1
      }
    }

    func roll(_ count: Int) -> Int { state.withLock { Int.random(in: 0..<count, using: &$0.random) } }
  }

  private func loader(_ watch: Watch) -> ScriptedLoader {
    ScriptedLoader { request in
      let url = try #require(URL(string: request.url))
      let (key, host) = (url.path, url.host ?? "")
      watch.enter(key, host)
      defer { watch.leave(key, host) }
      for _ in 0..<watch.roll(20) { await Task.yield() }
      if Task.isCancelled, watch.roll(3) > 0 { throw CancellationError() }
      switch watch.roll(12) {
      case 0: throw LoadFailure(.unreachable, "Down.")
      case 1: return .init(404)
      case 2: return .init(503)
      case 3:
        return key.hasPrefix("/moved")
          ? .init(200, "body of \(key)") : .redirect("https://cdn.example/moved\(key)", 307)
      default: return .init(200, "body of \(key.replacing("/moved", with: ""))")
      }
    }
  }

  /// Promises: E-12, E-13, B-27, B-42, R-4
  @Test("Each key has one request, each limit holds, each caller has one result")
  func anything() async throws {
    for seed in Self.seeds {
      var random = SeededGenerator(seed: seed)
      let watch = Watch(seed &* 31)
      let clock = VirtualClock()
      let fetcher = Fetcher(loader(watch), clock: LoadClock(clock), totalRequests: 4, random: { 0 })
      let coalescer = RequestCoalescer<Int, FetchedResponse>()
      let limits = HostLimits(perHost: 2)
      var callers: [(key: Int, task: Task<FetchedResponse, any Error>)] = []
      var cancelled: Set<Int> = []
      for _ in 0..<60 {
        if random.chance(70) || callers.isEmpty {
          let key = Int.random(in: 0..<5, using: &random)
          let priority = ResourceCache.Priority.allCases.randomElement(using: &random) ?? .normal
          let order = FetchBench.order(
            "https://a.example/\(key)", "https://b.example/\(key)", spread: UInt64(key)
          ) {
            $0.limits = limits
          }
          callers.append(
            (
              key,
              Task {
                try await coalescer.value(for: key, priority: priority) { inFlight throws(LoadFailure) in
                  try await fetcher.fetch(order, for: inFlight)
                }
              }
            ))
        } else {
          let place = Int.random(in: 0..<callers.count, using: &random)
          cancelled.insert(place)
          callers[place].task.cancel()
        }
        for _ in 0..<Int.random(in: 0..<10, using: &random) { await Task.yield() }
      }
      try await settle(callers, cancelled, clock, seed)
      try await until { coalescer.count == 0 }
      #expect(fetcher.load == (0, 0), "seed \(seed)")
      let most = watch.state.withLock { $0.most }
      #expect(most.key <= 1, "seed \(seed): \(most.key) requests for one key")
      #expect(most.host <= 2, "seed \(seed)")
      #expect(most.total <= 4, "seed \(seed)")
    }
  }

  /// Checks that every caller has exactly one result, and the right one.
  private func settle(
    _ callers: [(key: Int, task: Task<FetchedResponse, any Error>)], _ cancelled: Set<Int>,
    _ clock: VirtualClock,
    _ seed: UInt64
  ) async throws {
    let left = Locked(callers.count)
    let results = Task {
      var results: [Result<FetchedResponse, any Error>] = []
      for caller in callers {
        results.append(await caller.task.result)
        left.change { $0 -= 1 }
      }
      return results
    }
    while left.value > 0 {
      if let next = clock.sleepers.first, next < .seconds(50_000) { clock.advance(by: next) }
      await Task.yield()
    }
    for (place, result) in await results.value.enumerated() {
      switch result {
      case .success(let answer) where answer.status == 200:
        let body = String(decoding: answer.body, as: UTF8.self)
        #expect(body.hasSuffix("/\(callers[place].key)"), "seed \(seed), caller \(place)")
      case .success(let answer): #expect([404, 503].contains(answer.status), "seed \(seed), caller \(place)")
      case .failure(let error):
        let reason = (error as? LoadFailure)?.reason
        let isRight = reason == .unreachable || (reason == .cancelled && cancelled.contains(place))
        #expect(isRight, "seed \(seed), caller \(place): \(error)")
      }
    }
  }
}
