import BothyCache
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Testing

@Suite("Bytes that a caller has itself", .timeLimit(.minutes(5)))
struct HeldTests {
  /// Returns a rig whose server has one version, and answers conditional requests with a tag and a 304.
  private func rig(confirming tag: String = "\"1\"") throws -> CacheRig {
    try CacheRig { request in
      request.fields[.ifNoneMatch] == nil
        ? .init(200, fields: [.eTag: "\"1\""], request.url) : .init(304, fields: [.eTag: tag])
    }
  }

  private func options(_ fields: HTTPFields, _ rig: CacheRig) -> ResourceCache.Options {
    var options = ResourceCache.Options(policy: .remoteElseLocal)
    options.held = EntryMetadata(fields: fields, receivedAt: rig.time.now)
    return options
  }

  /// Promises: T-23
  @Test("Their validators are sent without a stored entry, and a 304 has no bytes")
  func confirmed() async throws {
    let rig = try rig()
    let tile = try rig.tile()
    rig.pass(.days(8))
    let date = "Tue, 15 Nov 1994 12:45:26 GMT"
    let answer = try await rig.cache.value(
      tile, options([.eTag: "\"1\"", .lastModified: date], rig))
    #expect(answer.metadata.status == 304 && answer.bytes == Data() && answer.origin == .confirmed)
    #expect(answer.metadata.validatedAt == rig.time.now)
    #expect(rig.lastSent(.ifNoneMatch) == "\"1\"" && rig.lastSent(.ifModifiedSince) == date)
    #expect(rig.cache.peek(tile) == nil && rig.store.keys.isEmpty)
    #expect(rig.cache.counters["tiles"]?.confirmed == 1 && rig.cache.counters["tiles"]?.failed == 0)
    #expect(try await text(rig.cache.value(tile)) == "https://tiles.example/16/1/2.json")
    #expect(rig.lastSent(.ifNoneMatch) == nil)
  }

  @Test("A 304 that names other bytes is followed by an unconditional request")
  func otherBytes() async throws {
    let rig = try rig(confirming: "\"2\"")
    let answer = try await rig.cache.value(rig.tile(), options([.eTag: "\"0\""], rig))
    #expect(text(answer) == "https://tiles.example/16/1/2.json")
    #expect(rig.loader.requests.map { $0.fields[.ifNoneMatch] } == ["\"0\"", nil])
    #expect(rig.store.keys == [try rig.tile()])
  }

  @Test("A stored entry's validators are sent in place of the caller's")
  func stored() async throws {
    let rig = try rig()
    let tile = try rig.tile()
    _ = try await rig.cache.value(tile)
    rig.pass(.days(8))
    let answer = try await rig.cache.value(tile, options([.eTag: "\"0\""], rig))
    #expect(text(answer) != nil && answer.metadata.status == 200 && rig.lastSent(.ifNoneMatch) == "\"1\"")
  }

  @Test("Bytes without a validator are loaded, and a 304 for them is an error")
  func unmarked() async throws {
    let plain = try rig()
    let answer = try await plain.cache.value(plain.tile(), options([.eTag: ""], plain))
    #expect(answer.metadata.status == 200 && plain.lastSent(.ifNoneMatch) == nil)
    let wrong = try CacheRig { _ in .init(304) }
    await #expect {
      try await wrong.cache.value(wrong.tile(), options([:], wrong))
    } throws: {
      ($0 as? BothyError)?.status == 304
    }
  }

  @Test("They count as pinned: no response takes them away", arguments: [404, 410, 204, 200])
  func gone(_ status: Int) async throws {
    let answer = Locked(ScriptedLoader.Answer(200, fields: [.eTag: "\"1\""], "a tile"))
    let rig = try CacheRig { _ in answer.value }
    let tile = try rig.tile()
    _ = try await rig.cache.value(tile)
    rig.pass(.days(8))
    answer.value = ScriptedLoader.Answer(status)
    let mine = options([.eTag: "\"1\""], rig)
    let read = try await rig.cache.value(tile, mine)
    guard case .stale(.refreshFailed(let error)) = read.freshness else {
      Issue.record("\(read.freshness)")
      return
    }
    #expect(error.code == .absent && text(read) == "a tile" && rig.store[tile]?.metadata.status == 200)
    // Also if the cache has lost them, with and without a validator.
    try await rig.cache.remove(tile)
    for fields in [[.eTag: "\"1\""], [:]] as [HTTPFields] {
      let error = await #expect(throws: BothyError.self) {
        try await rig.cache.value(tile, options(fields, rig))
      }
      #expect(error?.code == .absent && rig.store.keys.isEmpty)
    }
    let other = try await rig.cache.value(tile)
    #expect(other.isAbsent == (status != 200), "another reader has no bytes to keep")
  }

  @Test("They stay although their confirmation was of other bytes")
  func goneAfterConfirmation() async throws {
    let rig = try CacheRig { request in
      request.fields[.ifNoneMatch] == nil ? .init(404) : .init(304, fields: [.eTag: "\"2\""])
    }
    let error = await #expect(throws: BothyError.self) {
      try await rig.cache.value(rig.tile(), options([.eTag: "\"0\""], rig))
    }
    #expect(error?.code == .absent && rig.loader.requests.count == 2 && rig.store.keys.isEmpty)
  }

  @Test("A reader without bytes of its own joins no request that may bring none")
  func apart() async throws {
    let gate = Latch()
    let rig = try CacheRig { request in
      guard request.fields[.ifNoneMatch] == nil else { return .init(304) }
      await gate.pass()
      return .init(200, fields: [.eTag: "\"1\""], request.url)
    }
    let tile = try rig.tile()
    let reading = Task { try await rig.cache.value(tile) }
    await gate.reached()
    let mine = options([.eTag: "\"1\""], rig)
    let confirming = Task { try await rig.cache.value(tile, mine) }
    try await until { rig.loader.requests.count == 2 || rig.cache.counters["tiles"]?.coalesced == 1 }
    gate.open()
    #expect(try await confirming.value.metadata.status == 304)
    #expect(try await text(reading.value) == "https://tiles.example/16/1/2.json")
    #expect(rig.loader.requests.count == 2)
  }
}
