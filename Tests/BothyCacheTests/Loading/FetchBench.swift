import BothyCache
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes

/// A fetcher with a scripted network and a clock that only the test moves.
struct FetchBench: Sendable {
  let clock = VirtualClock()
  let loader: ScriptedLoader
  let fetcher: Fetcher
  /// The times of all requests, counted from the start.
  let times: Locked<[Duration]>

  init(
    total: Int = 16, partials: PartialFiles? = nil, random: @escaping @Sendable () -> Double = { 0.5 },
    _ answer: @escaping @Sendable (ResourceRequest, _ number: Int) async throws -> ScriptedLoader.Answer
  ) {
    let (clock, times) = (clock, Locked<[Duration]>([]))
    let start = clock.now
    self.times = times
    loader = ScriptedLoader { request in
      let number = times.change { times -> Int in
        times.append(start.duration(to: clock.now))
        return times.count
      }
      return try await answer(request, number)
    }
    fetcher = Fetcher(
      loader,
      clock: LoadClock(
        clock, wall: { 1_767_225_600_000 + Int64(start.duration(to: clock.now) / .milliseconds(1)) }),
      totalRequests: total, partials: partials, random: random)
  }

  /// Returns an order with timeouts so long that jumps of the clock do not end it.
  static func order(_ urls: String..., spread: UInt64 = 0, change: (inout FetchOrder) -> Void = { _ in })
    -> FetchOrder
  {
    var order = FetchOrder(urls.isEmpty ? ["https://tiles.example/1/2/3.png"] : urls, spread: spread)
    order.fields[.userAgent] = "Tests/1 (tests.example)"
    order.timeout = .seconds(100_000)
    order.retry.patience = .seconds(600)
    change(&order)
    return order
  }

  func fetch(_ order: FetchOrder = Self.order(), priority: ResourceCache.Priority = .normal) async throws
    -> FetchedResponse
  {
    try await moving { [fetcher] in try await fetcher.fetch(order, for: InFlightRequest(priority)) }
  }

  func failure(_ order: FetchOrder = Self.order()) async -> LoadFailure.Reason? {
    do {
      _ = try await fetch(order)
      return nil
    } catch {
      return (error as? LoadFailure)?.reason
    }
  }

  /// Runs `body`. Whenever all tasks wait, moves the clock to the earliest end of a wait.
  func moving<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
    let isDone = Locked(false)
    let task = Task {
      defer { isDone.change { $0 = true } }
      return try await body()
    }
    while !isDone.value {
      if let next = clock.sleepers.first, next < .seconds(50_000) { clock.advance(by: next) }
      await Task.yield()
    }
    return try await task.value
  }
}

extension ScriptedLoader.Answer {
  static func redirect(_ to: String, _ status: Int = 302) -> Self { Self(status, fields: [.location: to]) }
  static func busy(_ status: Int = 503, after: String) -> Self { Self(status, fields: [.retryAfter: after]) }
}
