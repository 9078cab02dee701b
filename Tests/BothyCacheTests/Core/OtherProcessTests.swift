import BothyCache
import BothyStore
import BothyTestSupport
import BothyTesting
import Dispatch
import Foundation
import HTTPTypes
import Testing

@Suite("Memory beside another process", .timeLimit(.minutes(5)))
struct OtherProcessTests {
  private let folder: TemporaryFolder
  private let time = VirtualTime()
  private let version = Locked(1)

  init() throws { folder = try TemporaryFolder() }

  private func source(_ scheme: String = "https") throws -> ResourceSource {
    try ResourceSource(
      "tiles", template: "\(scheme)://tiles.example/{z}/{x}/{y}", freshness: .fixed(.days(7)),
      userAgent: "Tests/1 (tests.example)", content: ContentExpectation())
  }

  /// Returns a cache on the folder, as each process has one. Its server sends the address and the version of a tile.
  private func open(
    _ source: ResourceSource, _ kind: StoreKind, _ options: DiskCache.Options = DiskCache.Options()
  ) throws -> ResourceCache {
    let (store, version) = (try kind.open(folder, options), version)
    return try ResourceCache(
      sources: [source], disk: DiskCache { _ in store },
      loader: ScriptedLoader { .init(200, "\($0.url) v\(version.value)") },
      clock: LoadClock(VirtualClock(), wall: time.reader()))
  }

  /// Returns the version of a read tile.
  private func number(_ resource: CachedResource?) -> Int? {
    text(resource)?.split(separator: "v").last.flatMap { Int($0) }
  }

  @Test("An entry that another process replaces is read from the disk again", arguments: StoreKind.allCases)
  func replaced(_ kind: StoreKind) async throws {
    let source = try source()
    let (mine, other) = (try open(source, kind), try open(source, kind))
    let keys = try (0..<3).map { try source.key(zoom: 4, x: $0, y: 1) }
    for key in keys.prefix(2) {
      _ = try await mine.value(key)
      #expect(try await number(other.value(key)) == 1)
    }
    _ = try await mine.value(keys[2])
    #expect(keys.prefix(2).allSatisfy { other.peek($0) != nil }, "a new entry changes none of these")
    version.value = 2
    _ = try await mine.value(keys[0], policy: .remote)
    #expect(number(mine.peek(keys[0])) == 2 && mine.peek(keys[1]) != nil, "its own memory stays")
    #expect(other.peek(keys[0]) == nil)
    #expect(try await number(other.value(keys[0], policy: .local)) == 2)
    #expect(try await number(other.value(keys[1], policy: .local)) == 1)
    #expect(number(other.peek(keys[0])) == 2)
  }

  /// Stores versions of a tile on one thread while another one looks. Returns how often either failed.
  private func failures(
    storing key: ResourceKey, in store: any DiskCache.Store, beside look: @Sendable () -> Bool
  ) -> Int {
    let (threads, failures, isDone) = (Locked(0), Locked(0), Locked(false))
    DispatchQueue.concurrentPerform(iterations: 2) { _ in
      // The first thread stores, because a second one may only come after it.
      let number = threads.change { count in
        count += 1
        return count
      }
      if number == 1 {
        for seed in 0..<300 {
          let report = try? store.store(key, makeEntry(seed))  // a failure counts
          if report == nil { failures.change { $0 += 1 } }
        }
        isDone.value = true
      } else {
        while !isDone.value {
          if !look() { failures.change { $0 += 1 } }
        }
      }
    }
    return failures.value
  }

  @Test("Memory stays while the process itself replaces other entries", arguments: StoreKind.allCases)
  func own(_ kind: StoreKind) async throws {
    let (source, store) = (try source(), try kind.open(folder))
    let cache = try ResourceCache(
      sources: [source], disk: DiskCache { _ in store }, loader: ScriptedLoader { .init(200, $0.url) },
      clock: LoadClock(VirtualClock(), wall: time.reader()))
    let (kept, other) = (try source.key(zoom: 4, x: 0, y: 1), try source.key(zoom: 4, x: 1, y: 1))
    _ = try await cache.value(kept)
    let failed = failures(storing: other, in: store) { cache.peek(kept) != nil }
    #expect(failed == 0)
    try await cache.close()
  }

  @Test(
    "An entry that another process removes leaves memory", arguments: StoreKind.allCases, [true, false])
  func removed(_ kind: StoreKind, isAll: Bool) async throws {
    let source = try source()
    let (mine, other) = (try open(source, kind), try open(source, kind))
    let key = try source.key(zoom: 4, x: 1, y: 1)
    _ = try await mine.value(key)
    #expect(try await number(other.value(key)) == 1)
    if isAll { try await mine.removeAll() } else { try await mine.remove(key) }
    #expect(other.peek(key) == nil)
    let error = await #expect(throws: BothyError.self) { try await other.value(key, policy: .local) }
    #expect(error?.code == .notCached)
  }

  @Test("A process that began on a full disk notices and tells of changes", arguments: StoreKind.allCases)
  func full(_ kind: StoreKind) async throws {
    let (source, isFull) = (try source(), Locked(true))
    var options = DiskCache.Options()
    options.isDiskFull = { isFull.value }
    let early = try open(source, kind, options)
    isFull.value = false
    let later = try open(source, kind)
    let key = try source.key(zoom: 4, x: 1, y: 1)
    for (number, caches) in [(1, [later, early]), (2, [later, early]), (3, [early, later])] {
      version.value = number
      _ = try await caches[0].value(key, policy: .remote)
      #expect(caches[1].peek(key) == nil)
      #expect(try await self.number(caches[1].value(key, policy: .local)) == number)
    }
  }

  @Test(
    "A version that waits for another tile gives way to that of another process",
    arguments: StoreKind.allCases)
  func waiting(_ kind: StoreKind) async throws {
    let source = try source("http")
    let (mine, other) = (try open(source, kind), try open(source, kind))
    let keys = try (0..<2).map { try source.key(zoom: 4, x: $0, y: 1) }
    for key in keys { _ = try await mine.value(key) }
    try await mine.pin(keys, by: "region")
    version.value = 2
    #expect(try await other.value(keys[0], policy: .remote).notStored == .unconfirmed)
    version.value = 3
    var options = ResourceCache.Options(policy: .remote)
    options.admits = { _ in true }
    #expect(try await mine.value(keys[0], options).notStored == nil)
    #expect(try await other.value(keys[1], policy: .remote).notStored == .unconfirmed)
    #expect(try await number(other.value(keys[0], policy: .local)) == 3)
  }
}
