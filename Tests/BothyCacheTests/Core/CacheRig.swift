import BothyCache
import BothyTesting
import Foundation
import HTTPTypes
import Synchronization

/// A cache with a store, a server and a clock that a test moves.
struct CacheRig {
  let time = VirtualTime()
  let store: StoreDouble
  let loader: ScriptedLoader
  let cache: ResourceCache
  let source: ResourceSource

  /// Creates the rig.
  /// - Parameter answer: returns the server's responses. The default is 200 with the address as the body.
  init(
    freshness: FreshnessRule = .fixed(.days(7)), settings: CacheSettings = CacheSettings(),
    store: StoreDouble = StoreDouble(), bundled: [any DiskCache.Reader] = [],
    _ answer: @escaping @Sendable (ResourceRequest) async throws -> ScriptedLoader.Answer = {
      .init(200, $0.url)
    }
  ) throws {
    self.store = store
    loader = ScriptedLoader(answer)
    source = try Self.source("tiles", freshness: freshness)
    cache = try ResourceCache(
      sources: [source], settings: settings, disk: DiskCache { _ in store }, bundled: bundled, loader: loader,
      clock: LoadClock(VirtualClock(), wall: time.reader()))
  }

  static func source(_ id: SourceID, freshness: FreshnessRule = .fixed(.days(7))) throws -> ResourceSource {
    var limits = SourceLimits()
    limits.attempts = 1
    return try ResourceSource(
      id, template: "https://\(id.name).example/{z}/{x}/{y}.json", freshness: freshness,
      userAgent: "Tests/1 (tests.example)", limits: limits, content: ContentExpectation())
  }

  func tile(_ x: Int = 1, _ y: Int = 2) throws -> ResourceKey { try source.key(zoom: 16, x: x, y: y) }

  func pass(_ duration: Duration) { time.advance(by: duration.wholeMilliseconds) }

  /// Collects the events from now on.
  func listen() -> Listener { Listener(cache.events) }

  /// Returns the value of a field in the last request.
  func lastSent(_ name: HTTPField.Name) -> String? { loader.requests.last?.fields[name] }
}

/// Collects the events of a cache.
struct Listener {
  private let task: Task<[CacheEvent], Never>

  init(_ events: AsyncStream<CacheEvent>) {
    task = Task { await events.reduce(into: []) { $0.append($1) } }
  }

  /// Returns all events until the end of the cache, which this closes.
  func events(of cache: ResourceCache) async throws -> [CacheEvent] {
    try await cache.close()
    return await task.value
  }
}

func text(_ resource: CachedResource?) -> String? {
  resource?.bytes.map { String(decoding: $0, as: UTF8.self) }
}
