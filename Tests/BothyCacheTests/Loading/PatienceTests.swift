import BothyCache
import BothyTesting
import Foundation
import HTTPTypes
import Testing

/// How long a reader of the cache waits for a server that does not answer.
@Suite("Patience of readers", .timeLimit(.minutes(2)))
struct PatienceTests {
  private let clock = VirtualClock()

  private func cache(_ loader: ScriptedLoader, _ source: ResourceSource, downloads: URL? = nil) throws
    -> ResourceCache
  {
    try ResourceCache(
      sources: [source], loader: loader, downloads: downloads, clock: LoadClock(clock) { 1_000_000 })
  }

  private func source() throws -> ResourceSource {
    try ResourceSource(
      "tiles", template: "https://tiles.example/", freshness: .fixed(.zero), userAgent: "Tests/1")
  }

  /// Promises: T-29
  @Test(
    "Who has something to show is shown it after one try, and with no try at all while the server counts as down"
  )
  func oneTry() async throws {
    let isUp = Box(true)
    let loader = ScriptedLoader { _ in
      if !isUp.value { throw LoadFailure(.unreachable, "No network.") }
      return .init(200, "tile")
    }
    let source = try source()
    let cache = try cache(loader, source)
    let keys = try (0..<20).map { try source.key(path: "\($0)") }
    for key in keys { #expect(try await cache.value(key).isFresh) }
    isUp.change { $0 = false }
    for key in keys {
      let resource = try await cache.value(key)
      #expect(resource.bytes == Data("tile".utf8))
      #expect(!resource.isFresh)
    }
    #expect(loader.requests.count == 25, "after five failures in a row the host is left alone")
    #expect(clock.now.offset == .zero, "nobody waited")
    isUp.change { $0 = true }
    cache.networkChanged()
    #expect(try await cache.value(keys[0]).isFresh)
  }

  /// Promises: E-10
  @Test("A large download of a cache that was killed goes on where it was, if the cache has a folder for it")
  func goesOn() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "bothy-downloads-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }  // only tidying
    let whole = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 >> 8) })
    let loader = ScriptedLoader { request in
      var answer = ScriptedLoader.Answer(200, fields: [.eTag: "\"v1\""])
      if request.fields[.range] == "bytes=2000000-", request.fields[.ifRange] == "\"v1\"" {
        answer.status = 206
        answer.fields[.contentRange] = "bytes 2000000-2999999/3000000"
        answer.pieces = [whole.suffix(1_000_000)]
      } else {
        answer.pieces = [whole.prefix(2_000_000)]
        answer.breaksOff = LoadFailure(.truncated, "Gone.")
      }
      return answer
    }
    var source = try source()
    source.limits.attempts = 1
    let key = try source.key(path: "large")
    await #expect(throws: CacheError.self) { try await cache(loader, source, downloads: folder).value(key) }
    #expect(try await cache(loader, source, downloads: folder).value(key).bytes == whole)
    #expect(loader.requests.count == 2)
  }
}
