import Bars
import BothyCache
import CDisk

/// The cache in memory: the time and the allocations of a hit. It also checks that eviction costs the same for any
/// number of entries.
struct MemoryRun {
  private let options: Options

  init(_ options: Options) { self.options = options }

  func bars() async throws -> [Bar] {
    let hit = try await hits()
    var bars = [
      Bar(claim: "memory: hit with a tile's key, p50", measured: hit.median, limit: 1, unit: "us")
    ]
    if let allocations = hit.allocations {
      bars.append(
        Bar(
          claim: "memory: allocations of \(hit.count) hits, keys included", measured: Double(allocations),
          limit: 0, unit: ""))
    }
    bars.append(
      Bar(
        claim: "memory: inserting the tenth 10^4 into room for 10^4 / the second",
        measured: try await inserts(), limit: 1.5))
    return bars
  }

  private func cache(_ limits: MemoryLimits, bodies: Int) throws -> (ResourceCache, ResourceSource) {
    let source = try ResourceSource(
      Tiles.source, template: "https://tile.example/{z}/{x}/{y}.png", userAgent: "bench")
    let cache = try ResourceCache(
      sources: [source], settings: CacheSettings(memory: limits), bundled: [Shelf(size: bodies)],
      clock: LoadClock(ContinuousClock(), wall: { disk_now() / 1_000_000 + Tiles.now }))
    return (cache, source)
  }

  /// Times every hit by itself, the clock's own time included.
  private func hits() async throws -> (median: Double, allocations: Int64?, count: Int) {
    let (cache, source) = try cache(MemoryLimits(), bodies: Tiles.size)
    let count = 2000
    for number in 0..<count { _ = try await cache.value(Tiles.key(number), policy: .local) }
    var times: [Double] = []
    times.reserveCapacity(count * options.rounds)
    var allocations: Int64 = 0
    for round in 0...options.rounds {
      let before = disk_allocations()
      var found = 0
      for number in 0..<count {
        let number = number &* 769 % count
        let start = disk_now()
        let key = try source.key(zoom: 16, x: number / 256, y: number % 256)
        if let tile = cache.peek(key), tile.isFresh, tile.bytes?.count == Tiles.size { found += 1 }
        if round > 0 { times.append(Double(disk_now() - start) / 1000) }
      }
      guard found == count else { throw BenchmarkError("\(count - found) tiles were not in memory") }
      // The first round is for one-time allocations.
      if round > 0 { allocations += disk_allocations() - before }
    }
    let isCounted = disk_allocations() >= 0
    return (times.median ?? 0, isCounted ? allocations : nil, times.count)
  }

  /// Returns the time of the last tenth of 10^5 inserts divided by that of the second, which is the first that evicts.
  private func inserts() async throws -> Double {
    var ratios: [Double] = []
    for _ in 0..<max(3, options.rounds / 12) {
      let (cache, _) = try cache(MemoryLimits(bytes: 1 << 30, count: 10_000), bodies: 64)
      var times: [Double] = []
      for tenth in 0..<10 {
        times.append(
          try await seconds {
            for number in 0..<10_000 {
              _ = try await cache.value(Tiles.key(tenth * 10_000 + number), policy: .local)
            }
          })
      }
      let held = (0..<100_000).count(where: { cache.peek(Tiles.key($0)) != nil })
      guard held <= 10_000 else { throw BenchmarkError("more in memory than allowed") }
      ratios.append(times[9] / times[1])
    }
    return ratios.median ?? 0
  }
}
