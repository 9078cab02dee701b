import BothyCache
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

@Suite("Replacement by staged versions", .timeLimit(.minutes(5)))
struct StagingTests {
  @Test("Entries that were replaced before the disk was full are shown at once")
  func full() async throws {
    let (folder, time, version) = (try TemporaryFolder(), VirtualTime(), Locked(1))
    // The number of transactions that the disk has room for.
    let room = Locked(Int.max)
    // With this limit, each entry has a transaction of its own.
    var options = DiskCache.Options(limits: DiskCache.Limits(bytes: 1 << 20))
    options.isDiskFull = {
      room.change { left in
        if left > 0 { left -= 1 }
        return left == 0
      }
    }
    let (store, source) = (try StoreKind.sqlite.open(folder, options), try CacheRig.source("tiles"))
    let rest = String(repeating: "x", count: 20_000)
    let cache = try ResourceCache(
      sources: [source], disk: DiskCache { _ in store },
      loader: ScriptedLoader { .init(200, "\($0.url) v\(version.value) \(rest)") },
      clock: LoadClock(VirtualClock(), wall: time.reader()))
    let keys = try (0..<3).map { try source.key(zoom: 4, x: $0, y: 1) }
    func shown() async throws -> [Bool] {
      var shown: [Bool] = []
      for key in keys {
        shown.append(text(try await cache.value(key, policy: .local))?.contains(" v2 ") == true)
      }
      return shown
    }
    for key in keys { _ = try await cache.value(key) }
    #expect(try await shown() == [false, false, false])
    version.value = 2
    time.advance(by: 1000)
    var refresh = ResourceCache.Options(policy: .remote)
    refresh.stage = EntryStage("refresh")
    for key in keys { #expect(try await cache.value(key, refresh).storage == .staged) }
    room.value = 2
    let error = await #expect(throws: BothyError.self) {
      try await cache.unstage(keys, from: EntryStage("refresh"))
    }
    #expect(error?.code == .diskFull)
    room.value = .max
    #expect(try await shown() == [true, false, false])
    try await cache.unstage(keys, from: EntryStage("refresh"))
    #expect(try await shown() == [true, true, true])
    try await cache.close()
  }
}
