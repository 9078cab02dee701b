import BothyCache
import BothyHTTP
import BothySync
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Testing

/// The whole cache over a real server. `scripts/test-cache-origin` installs it.
@Suite("A cache in front of a real nginx", .enabled(if: NginxOrigin.program != nil), .timeLimit(.minutes(5)))
struct CacheOriginTests {
  private let origin: NginxOrigin

  init() async throws {
    origin = try NginxOrigin()
    for x in 0..<30 { try origin.put("\(x).json", Self.tile(x)) }
    try await origin.start()
  }

  private static func tile(_ x: Int) -> Data {
    Data("[\(String(repeating: "\"hut \(x)\",", count: 50))0]".utf8)
  }

  private func source(
    _ freshness: FreshnessRule, path: String = "files", bulk: Bool = false
  ) throws -> ResourceSource {
    try ResourceSource(
      "nginx", template: "\(origin.url)/\(path)", freshness: freshness,
      userAgent: "Tests/1 (tests.example)", allowsBulkDownload: bulk)
  }

  /// Opens a cache as a new run of a program does: with empty memory, on the existing folder.
  private func open(
    _ source: ResourceSource, loader: any ResourceLoader = platformLoader()
  ) throws -> ResourceCache {
    let folder = origin.folder.appending(path: "cache").path
    return try ResourceCache(
      sources: [source], disk: DiskCache { try DiskStore(folder: folder, options: $0) },
      loader: loader)
  }

  private func keys(_ source: ResourceSource) throws -> [ResourceKey] {
    try (0..<30).map { try source.key(path: "\($0).json") }
  }

  private func statuses() async throws -> [String: Int] {
    try await origin.requests().reduce(into: [:]) { counts, line in
      counts[String(line.split(separator: " ")[2]), default: 0] += 1
    }
  }

  private func readAll(_ cache: ResourceCache, _ source: ResourceSource) async throws -> [CachedResource] {
    var all: [CachedResource] = []
    for key in try keys(source) { all.append(try await cache.value(key)) }
    for (x, resource) in all.enumerated() { #expect(resource.bytes == Self.tile(x)) }
    return all
  }

  /// Promises: T-24, T-29
  @Test(
    "A later run only revalidates stale tiles, and serves them without the server"
  )
  func runs() async throws {
    let week = try source(.fixed(.seconds(7 * 86_400)))
    let first = try open(week)
    #expect(try await readAll(first, week).allSatisfy { $0.origin == .network && $0.isFresh })
    #expect(try await statuses() == ["200": 30])
    try await first.close()

    let second = try open(week)
    #expect(try await readAll(second, week).allSatisfy { $0.origin == .disk && $0.isFresh })
    #expect(try await statuses() == ["200": 30], "no request at all")
    try await second.close()

    let stale = try source(.fixed(.zero))
    let third = try open(stale)
    #expect(try await readAll(third, stale).allSatisfy { $0.origin == .confirmed })
    #expect(try await statuses() == ["200": 30, "304": 30])
    try await third.close()

    origin.stop()
    let gone = try source(.fixed(.zero))
    let fourth = try open(gone)
    #expect(try await readAll(fourth, gone).allSatisfy { !$0.isFresh && $0.origin == .disk })
    try await fourth.close()
  }

  /// Promises: E-12
  @Test("A hundred simultaneous readers of one tile send one request")
  func coalescing() async throws {
    let source = try source(.http, path: "latest")
    let gate = Latch()
    let cache = try open(source, loader: GatedLoader(gate: gate))
    let key = try source.key(path: "7.json")
    let bodies = try await withThrowingTaskGroup(of: Data?.self) { group in
      for _ in 0..<100 { group.addTask { try await cache.value(key).bytes } }
      try await until { cache.counters["nginx"]?.coalesced == 99 }
      gate.open()
      return try await group.reduce(into: [Data?]()) { $0.append($1) }
    }
    #expect(bodies == Array(repeating: Self.tile(7), count: 100))
    #expect(try await origin.requests().count == 1)
    try await cache.close()
  }

  /// Promises: R-24
  @Test("Prefetched tiles outlive the server, and a source that forbids prefetching isn't requested")
  func prefetch() async throws {
    let forbidding = try source(.fixed(.seconds(3600)))
    let reluctant = ResourcePrefetcher(try open(forbidding))
    #expect(reluctant.want(try keys(forbidding)) == 0)
    await reluctant.idle()
    #expect(try await origin.requests().isEmpty)

    let source = try source(.fixed(.seconds(3600)), bulk: true)
    let feed = NetworkFeed(NetworkState(isReachable: true, isExpensive: true))
    let cache = try open(source, loader: platformLoader(monitor: feed))
    let ahead = ResourcePrefetcher(cache)
    #expect(ahead.want(try keys(source)) == 30)
    for (state, obstacle) in [
      (feed.state, PrefetchPolicy.Obstacle.metered), (.notReachable, .offline),
      (NetworkState(isReachable: true, isConstrained: true), .constrained),
      (NetworkState(isReachable: true, isLowPower: true), .lowPower),
    ] {
      feed.send(state)
      while ahead.obstacle != obstacle { await Task.yield() }
      await ahead.idle()
    }
    #expect(try await origin.requests().isEmpty)
    feed.send(.unknown)
    while ahead.obstacle != nil { await Task.yield() }
    await ahead.idle()
    #expect(try await statuses() == ["200": 30])
    origin.stop()
    #expect(try await readAll(cache, source).allSatisfy { $0.isFresh })
    try await cache.close()
  }
}

/// The platform's loader, whose requests wait for a latch.
private struct GatedLoader: ResourceLoader {
  let gate: Latch
  private let loader = platformLoader()

  init(gate: Latch) { self.gate = gate }

  func load(_ request: ResourceRequest) async throws -> ResourceResponse {
    await gate.pass()
    return try await loader.load(request)
  }
}
