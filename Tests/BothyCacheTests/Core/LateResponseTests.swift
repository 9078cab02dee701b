import BothyCache
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Testing

@Suite("Responses that come after a replacement", .timeLimit(.minutes(5)))
struct LateResponseTests {
  /// The response that comes late: other bytes, or a confirmation of those from before the replacement.
  enum Late: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case bytes
    case confirmation
    case sharedConfirmation
    var testDescription: String { rawValue }
  }

  private let folder: TemporaryFolder
  private let time = VirtualTime()
  private let version = Locked(1)
  private let isHeld = Locked(false)
  private let gate = Latch()
  private let key: ResourceKey
  private let source: ResourceSource

  init() throws {
    folder = try TemporaryFolder()
    source = try CacheRig.source("tiles")
    key = try source.key(zoom: 16, x: 1, y: 2)
  }

  /// Returns a cache on the folder, as each process has one. Its server decides on a response as the request comes.
  private func open(_ kind: StoreKind) throws -> ResourceCache {
    let (store, version, isHeld, gate) = (try kind.open(folder), version, isHeld, gate)
    return try ResourceCache(
      sources: [source], disk: DiskCache { _ in store },
      loader: ScriptedLoader { request in
        let tag = "\"\(version.value)\""
        if isHeld.value { await gate.pass() }
        if request.fields[.ifNoneMatch] == tag { return .init(304, fields: [.eTag: tag]) }
        return .init(200, fields: [.eTag: tag], "version \(tag)")
      },
      clock: LoadClock(VirtualClock(), wall: time.reader()))
  }

  /// Reads the tile, which `replace` replaces by the version 3 while the response is on its way.
  private func read(
    _ cache: ResourceCache, _ late: Late, on stage: EntryStage? = nil, _ replace: () async throws -> Void
  ) async throws -> CachedResource {
    _ = try await cache.value(key)
    time.advance(by: 1000)
    if late == .bytes { version.value = 2 }
    isHeld.value = true
    var options = ResourceCache.Options(policy: .remote)
    options.sharesConfirmation = late == .sharedConfirmation
    options.stage = stage
    let reading = Task { [key, options] in try await cache.value(key, options) }
    await gate.reached()
    isHeld.value = false
    time.advance(by: 1000)
    version.value = 3
    try await replace()
    gate.open()
    return try await reading.value
  }

  private func expectNewest(_ cache: ResourceCache) async throws {
    #expect(text(try await cache.value(key, policy: .local)) == "version \"3\"")
    #expect(text(cache.peek(key)) == "version \"3\"")
  }

  @Test(
    "They replace no version that a refresh has put in its place", arguments: StoreKind.allCases,
    Late.allCases)
  func own(_ kind: StoreKind, _ late: Late) async throws {
    let cache = try open(kind)
    let stage = EntryStage("refresh")
    let response = try await read(cache, late) {
      var options = ResourceCache.Options(policy: .remote)
      options.stage = stage
      #expect(try await cache.value(key, options).storage == .staged)
      try await cache.unstage([key], from: stage)
    }
    #expect(response.origin == (late == .bytes ? .network : .confirmed))
    try await expectNewest(cache)
    try await cache.close()
  }

  @Test(
    "They replace no version that another process has requested later", arguments: StoreKind.allCases,
    Late.allCases)
  func foreign(_ kind: StoreKind, _ late: Late) async throws {
    let (cache, other) = (try open(kind), try open(kind))
    _ = try await read(cache, late) { _ = try await other.value(key, policy: .remote) }
    try await expectNewest(cache)
    try await expectNewest(other)
    try await cache.close()
    try await other.close()
  }

  @Test("A late staged version replaces none that was requested later", arguments: StoreKind.allCases)
  func staged(_ kind: StoreKind) async throws {
    let (cache, stage) = (try open(kind), EntryStage("refresh"))
    let response = try await read(cache, .bytes, on: stage) {
      _ = try await cache.value(key, policy: .remote)
    }
    #expect(response.storage == .staged)
    try await cache.unstage([key], from: stage)
    try await expectNewest(cache)
    #expect(try await cache.staged([key], on: stage) == [nil])
    try await cache.close()
  }

  @Test("Bytes of a clock that was ahead are replaced", arguments: StoreKind.allCases)
  func ahead(_ kind: StoreKind) async throws {
    let cache = try open(kind)
    time.advance(by: Duration.days(365).wholeMilliseconds)
    _ = try await cache.value(key)
    time.advance(by: -Duration.days(365).wholeMilliseconds)
    version.value = 3
    _ = try await cache.value(key, policy: .remote)
    try await expectNewest(cache)
    try await cache.close()
  }
}
