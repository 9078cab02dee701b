import BothyCache
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Testing

/// Tests of loading, as readers of the cache see it.
@Suite("Loading through the cache", .timeLimit(.minutes(10)))
struct CacheLoadingTests {
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
    "A read with a stored entry returns after one try, or none if down"
  )
  func oneTry() async throws {
    let isUp = Locked(true)
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

  @Test("An impatient read without an entry fails at once while the host is down")
  func impatient() async throws {
    let loader = ScriptedLoader { _ in throw LoadFailure(.unreachable, "No network.") }
    var source = try source()
    source.limits.attempts = 1
    let cache = try cache(loader, source)
    var options = ResourceCache.Options()
    options.waitsForHost = false
    for number in 0..<20 {
      let key = try source.key(path: "\(number)")
      await #expect { try await cache.value(key, options) } throws: {
        ($0 as? BothyError)?.code == .unreachable
      }
    }
    #expect(loader.requests.count == 5 && clock.now.offset == .zero)
  }

  /// Promises: E-10
  @Test("A killed cache with a download folder resumes a large download")
  func goesOn() async throws {
    let temporary = try TemporaryFolder()
    let folder = temporary.url("downloads")
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
    await #expect(throws: BothyError.self) { try await cache(loader, source, downloads: folder).value(key) }
    #expect(try await cache(loader, source, downloads: folder).value(key).bytes == whole)
    #expect(loader.requests.count == 2)
  }

  /// Promises: T-28
  @Test("A tile's request has the template's address and the source's fields, unconditionally")
  func address() async throws {
    let version = try #require(HTTPField.Name("App-Version"))
    let loader = ScriptedLoader { _ in .init(200, "{}") }
    let source = try ResourceSource(
      "tiles", template: "https://{s}.tiles.example/{z}/{x}/{y}/{-y}/{q}{r}.json", hosts: ["a"],
      highResolution: true,
      headers: [version: "1.2"], userAgent: "Tests/1")
    _ = try await cache(loader, source).value(try source.key(zoom: 16, x: 10472, y: 22982))
    let request = try #require(loader.requests.first)
    #expect(request.url == "https://a.tiles.example/16/10472/22982/42553/0212300233101220@2x.json")
    #expect(request.method == .get)
    #expect(request.fields == [version: "1.2", .userAgent: "Tests/1"])
  }

  @Test("A secret of the address is sent, but never in errors or files")
  func secrets() async throws {
    let temporary = try TemporaryFolder()
    let folder = temporary.url("downloads")
    let number = Locked(0)
    let loader = ScriptedLoader { request in
      let number = number.change { number -> Int in
        number += 1
        return number
      }
      var answer = ScriptedLoader.Answer(200, fields: [.eTag: "\"v1\"", .contentLength: "4000000"])
      switch number {
      case 1: return .init(302, fields: [.location: "http://elsewhere.example/?token=s3cret"])
      case 2: return .init(206, "part")
      case 3: answer.fields[.contentLength] = "9000000000"
      default: answer.pieces = [Data(count: 2_000_000)]
      }
      return answer
    }
    var source = try ResourceSource(
      "tiles", template: "https://tiles.example/", userAgent: "Tests/1", secrets: ["token": "s3cret"])
    source.limits.attempts = 1
    let cache = try cache(loader, source, downloads: folder)
    var told: [BothyError] = []
    for _ in 0..<4 {
      do throws(BothyError) { _ = try await cache.value(try source.key(path: "1")) } catch {
        told.append(error)
      }
    }
    #expect(told.map(\.code) == [.refused, .unreachable, .tooLarge, .unreachable])
    for error in told { #expect(!error.message.contains("s3cret")) }
    #expect(loader.requests.allSatisfy { $0.url.contains("token=s3cret") })
    let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
    #expect(files.count == 1)
    for file in files { #expect(try Data(contentsOf: file).firstRange(of: Data("s3cret".utf8)) == nil) }
  }

  @Test("A read receives the progress of its download")
  func progress() async throws {
    let loader = ScriptedLoader { _ in
      var answer = ScriptedLoader.Answer(200, fields: [.contentLength: "8"])
      answer.pieces = [Data("half".utf8), Data("half".utf8)]
      return answer
    }
    let source = try source()
    let told = Locked<[ResourceCache.Progress]>([])
    var options = ResourceCache.Options()
    options.progress = { progress in told.change { $0.append(progress) } }
    _ = try await cache(loader, source).value(try source.key(path: "1"), options)
    #expect(
      told.value == [
        ResourceCache.Progress(received: 4, expected: 8), ResourceCache.Progress(received: 8, expected: 8),
      ])
  }
}
