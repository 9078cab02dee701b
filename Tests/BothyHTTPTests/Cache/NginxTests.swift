import BothyCache
import BothyHTTP
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// Loading from a real server. `scripts/test-cache-origin` installs it.
@Suite("A real nginx as origin", .enabled(if: NginxOrigin.program != nil), .timeLimit(.minutes(5)))
struct NginxTests {
  private let origin: NginxOrigin
  private let fetcher: Fetcher
  /// A tile that compresses well and is long enough for compression.
  private let tile = Data("[\(String(repeating: "{\"name\":\"hut\"},", count: 500))0]".utf8)

  init() async throws {
    origin = try NginxOrigin()
    fetcher = Fetcher(platformLoader(), partials: PartialFiles(origin.folder.appending(path: "parts")))
    try origin.put("tile.json", tile)
    try await origin.start()
  }

  /// Returns bytes that a coding compresses to half at best: random digits in base 16.
  private func noise(_ count: Int) -> Data {
    var random = SeededGenerator(seed: 1)
    return Data(
      (0...count / 16).map { _ in String(random.next() | 1 << 63, radix: 16) }.joined().utf8.prefix(count))
  }

  private func order(_ path: String, change: (inout FetchOrder) -> Void = { _ in }) -> FetchOrder {
    var order = FetchOrder([origin.url + path], fields: [.userAgent: "Tests/1 (tests.example)"])
    change(&order)
    return order
  }

  private func fetch(_ path: String, change: (inout FetchOrder) -> Void = { _ in }) async throws
    -> FetchedResponse
  {
    try await fetcher.fetch(order(path, change: change), for: InFlightRequest())
  }

  /// Promises: E-12, B-42
  @Test("A hundred simultaneous loads of one tile send one request")
  func coalescing() async throws {
    let coalescer = RequestCoalescer<String, FetchedResponse>()
    let order = order("/late/tile.json")
    let gate = Latch()
    let bodies = try await withThrowingTaskGroup(of: Data.self) { group in
      for _ in 0..<100 {
        group.addTask { [fetcher] in
          try await coalescer.value(for: "tile") { request async throws(LoadFailure) in
            await gate.pass()
            return try await fetcher.fetch(order, for: request)
          }.body
        }
      }
      try await until { coalescer.waiterCount("tile") == 100 }
      gate.open()
      return try await group.reduce(into: [Data]()) { $0.append($1) }
    }
    #expect(bodies == Array(repeating: tile, count: 100))
    #expect(try await origin.requests().count == 1)
  }

  /// Promises: E-27
  @Test("A compressed tile is decoded once, and its unchanged entity tag receives a 304")
  func compressed() async throws {
    let first = try await fetch("/files/tile.json")
    #expect(first.body == tile)
    let tag = try #require(first.fields[.eTag])
    #expect(tag.hasPrefix("W/\""), "nginx marks the tag of what it compresses as weak")
    #expect(first.fields[.contentEncoding] == nil)
    #expect(first.fields[.contentLength] == nil)
    let second = try await fetch("/files/tile.json") { $0.fields[.ifNoneMatch] = tag }
    #expect(second.status == 304)
    #expect(second.body.isEmpty)
    #expect(second.fields[.eTag]?.contains(tag.dropFirst(3)) == true)
    let plain = try await fetch("/files/tile.json") { $0.fields[.acceptEncoding] = "identity" }
    #expect(plain.body == tile)
    #expect(plain.fields[.eTag]?.hasPrefix("\"") == true)
    #expect(plain.fields[.contentLength] == String(tile.count))
    let lines = try await origin.requests()
    #expect(lines.map { $0.split(separator: " ")[2] } == ["200", "304", "200"])
    #expect(lines[0].contains("gzip"), "it was asked for")
    try origin.put("tile.json", Data("[1]".utf8))
    let changed = try await fetch("/files/tile.json") { $0.fields[.ifNoneMatch] = tag }
    #expect(changed.status == 200)
    #expect(changed.body == Data("[1]".utf8))
  }

  /// Promises: R-16
  @Test(
    "The layers below the cache store nothing, so each request reaches the server")
  func nothingBelow() async throws {
    for _ in 0..<3 {
      let answer = try await fetch("/old/tile.json")
      #expect(answer.fields[.cacheControl] == "max-age=3600")
      #expect(answer.body == tile)
    }
    #expect(try await origin.requests().map { $0.split(separator: " ")[2] } == ["200", "200", "200"])
  }

  /// Promises: B-19e, B-33
  @Test("Missing tiles, redirects and a busy server are handled with few requests")
  func statuses() async throws {
    #expect(try await fetch("/files/none.json").status == 404)
    #expect(try await origin.requests().count == 1)
    let moved = try await fetch("/moved/x")
    #expect(moved.body == tile)
    #expect(moved.url == origin.url + "/files/tile.json")
    #expect(try await origin.requests().count == 3)
    let began = ContinuousClock.now
    #expect(try await fetch("/busy/x") { $0.retry.attempts = 2 }.status == 503)
    #expect(ContinuousClock.now - began >= .seconds(1))
    #expect(try await origin.requests().count == 5)
  }

  /// Promises: E-10
  @Test(
    "A download resumes after the server comes back, also in another process")
  func resumed() async throws {
    let large = noise(1_900_000)
    try origin.put("large.png", large)
    let gotEnough = Latch()
    let coalescer = RequestCoalescer<String, FetchedResponse>()
    let slow = order("/slow/large.png") { $0.retry = .once }
    let broken = Task { [fetcher] in
      try await coalescer.value(
        for: "large", progress: { if $0.received > 1_060_000 { gotEnough.open() } }
      ) { request throws(LoadFailure) in try await fetcher.fetch(slow, for: request) }
    }
    await gotEnough.pass()
    origin.stop()
    await #expect(throws: LoadFailure.self) { try await broken.value }
    await #expect(throws: LoadFailure.self) { try await fetch("/files/tile.json") { $0.retry = .once } }
    try await origin.start()
    // This fetcher acts as another process, which only knows the files on disk.
    let next = Fetcher(platformLoader(), partials: PartialFiles(origin.folder.appending(path: "parts")))
    let whole = try await next.fetch(
      slow.reaching("/slow/large.png", "/files/large.png"), for: InFlightRequest())
    #expect(whole.body == large)
    #expect(!whole.wasResumed, "another address is another resource")
    let rest = try await next.fetch(slow, for: InFlightRequest())
    #expect(rest.body == large)
    #expect(rest.wasResumed)
    #expect(rest.fields[.contentType] == "image/png")
    let line = try #require(try await origin.requests().last)
    #expect(line.contains(" 206 ") && line.contains("bytes=1"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: origin.folder.path + "/parts").isEmpty)
  }

  /// Promises: E-10
  @Test("A compressed body that breaks off fails, and no part of it is kept")
  func brokenCoding() async throws {
    let digits = noise(2_600_000)
    try origin.put("large.json", digits)
    let gotEnough = Latch()
    let order = order("/slow/large.json") { $0.retry = .once }
    let coalescer = RequestCoalescer<String, FetchedResponse>()
    let broken = Task { [fetcher] in
      try await coalescer.value(
        for: "large", progress: { if $0.received > 1_500_000 { gotEnough.open() } }
      ) { request throws(LoadFailure) in try await fetcher.fetch(order, for: request) }
    }
    await gotEnough.pass()
    origin.stop()
    await #expect { try await broken.value } throws: { ($0 as? LoadFailure)?.reason == .truncated }
    #expect(!FileManager.default.fileExists(atPath: origin.folder.path + "/parts"))
  }

  @Test("A connection that is closed or not accepted counts as unreachable")
  func unreachable() async throws {
    for path in ["/hungup/x"] {
      await #expect { try await fetch(path) { $0.retry = .once } } throws: {
        ($0 as? LoadFailure)?.reason == .unreachable
      }
    }
    origin.stop()
    await #expect { try await fetch("/files/tile.json") { $0.retry = .once } } throws: {
      ($0 as? LoadFailure)?.reason == .unreachable
    }
    await #expect {
      try await fetcher.fetch(FetchOrder(["http://["], fields: [.userAgent: "x"]), for: InFlightRequest())
    } throws: {
      ($0 as? LoadFailure)?.reason == .invalidRequest
    }
  }

  @Test("A cancelled load ends soon, and its connection to the server closes")
  func calledOff() async throws {
    try origin.put("large.png", Data(count: 3_000_000))
    let started = Latch()
    let coalescer = RequestCoalescer<String, FetchedResponse>()
    let slow = order("/slow/large.png")
    let load = Task { [fetcher] in
      try await coalescer.value(for: "large", progress: { _ in started.open() }) {
        request throws(LoadFailure) in
        try await fetcher.fetch(slow, for: request)
      }
    }
    await started.pass()
    load.cancel()
    await #expect(throws: LoadFailure.self) { try await load.value }
    while coalescer.count > 0 { await Task.yield() }
    #expect(fetcher.load == (0, 0))
    #expect(try await fetch("/files/tile.json").body == tile, "the next one is not held up")
  }
}

extension FetchOrder {
  fileprivate func reaching(_ part: String, _ other: String) -> FetchOrder {
    var order = self
    order.urls = urls.map { $0.replacing(part, with: other) }
    return order
  }
}
