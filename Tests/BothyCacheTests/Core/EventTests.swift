import BothyCache
import BothyStore
import BothyTestSupport
import BothyTesting
import HTTPTypes
import Testing

@Suite("Events of a cache", .timeLimit(.minutes(5)))
struct EventTests {
  /// Returns the event without the error of a failure.
  private func plain(_ event: CacheEvent) -> String {
    if case .failed(let key, _) = event { return "failed(\(key))" }
    return "\(event)"
  }

  /// Promises: R-41
  @Test("The events of a tile arrive in order, and each names the tile")
  func told() async throws {
    let answer = Locked(ScriptedLoader.Answer(200, fields: [.eTag: "\"1\""], "v1"))
    let rig = try CacheRig { _ in answer.value }
    let (tile, absent) = (try rig.tile(1), try rig.tile(2))
    let listener = rig.listen()
    #expect(text(try await rig.cache.value(tile)) == "v1")
    var expected: [CacheEvent] = [.requested(tile), .changed(tile, bytes: 2)]
    rig.pass(.days(8))
    answer.value = .init(304, fields: [.eTag: "\"1\""])
    _ = try await rig.cache.value(tile)
    expected += [.requested(tile), .confirmed(tile)]
    rig.pass(.days(8))
    answer.value = .init(500, "broken")
    #expect(text(try await rig.cache.value(tile)) == "v1")
    let failure = BothyError(.refused, "The server is broken.")
    expected += [.requested(tile), .failed(tile, failure)]
    answer.value = .init(200, fields: [.eTag: "\"2\""], "v2")
    #expect(text(try await rig.cache.value(tile, policy: .remote)) == "v2")
    expected += [.requested(tile), .changed(tile, bytes: 2)]
    answer.value = .init(404)
    #expect(try await rig.cache.value(absent).isAbsent)
    expected += [.requested(absent), .absent(absent, status: 404)]
    rig.cache.suspendNetwork()
    rig.cache.suspendNetwork()
    rig.cache.resumeNetwork()
    expected += [.networkSuspended, .networkResumed]
    try await rig.cache.remove(tile)
    try await rig.cache.removeAll("tiles")
    expected += [.removed(tile), .removedAll("tiles")]
    let events = try await listener.events(of: rig.cache)
    #expect(events.map(plain) == expected.map(plain))
    let statuses = events.compactMap { event -> Int? in
      if case .failed(_, let error) = event { error.status } else { nil }
    }
    #expect(statuses == [500])
  }

  /// Promises: R-41
  @Test("An eviction, a full disk and released memory are reported")
  func room() async throws {
    let rig = try CacheRig()
    let keys = try (1...3).map { try rig.tile($0) }
    try await rig.cache.setDiskLimits(DiskCache.Limits(count: 1))
    let listener = rig.listen()
    _ = try await rig.cache.value(keys[0])
    rig.pass(.seconds(1))
    _ = try await rig.cache.value(keys[1])
    rig.store.change { $0.refusal = .diskFull }
    _ = try await rig.cache.value(keys[2])
    let held = rig.cache.memoryUse.bytes
    rig.cache.releaseMemory()
    let events = try await listener.events(of: rig.cache)
    #expect(
      events.filter { $0.key == keys[0] } == [
        .requested(keys[0]), .changed(keys[0], bytes: 33), .evicted(keys[0]),
      ])
    #expect(
      events.filter { $0.key == keys[2] } == [
        .requested(keys[2]), .notStored(keys[2], .diskFull), .changed(keys[2], bytes: 33),
      ])
    #expect(held > 0 && events.filter { $0.key == nil } == [.memoryTrimmed(bytes: held)])
  }

  /// Promises: R-41
  @Test("A load whose only reader left is cancelled, one with another reader isn't")
  func cancelled() async throws {
    let gate = Latch()
    let rig = try CacheRig { request in
      await gate.pass()
      try Task.checkCancellation()
      return .init(200, request.url)
    }
    let (given, joined) = (try rig.tile(1), try rig.tile(2))
    let (told, stream) = (Received<CacheEvent>(), rig.cache.events)
    let listening = Task { for await event in stream { told.append(event) } }
    let alone = Task { try await rig.cache.value(given) }
    try await until { rig.loader.requests.count == 1 }
    alone.cancel()
    await #expect(throws: BothyError.self) { try await alone.value }
    let first = Task { try await rig.cache.value(joined) }
    try await until { rig.loader.requests.count == 2 }
    let second = Task { try await rig.cache.value(joined) }
    try await until { rig.cache.counters["tiles"]?.coalesced == 1 }
    first.cancel()
    await #expect(throws: BothyError.self) { try await first.value }
    gate.open()
    #expect(text(try await second.value) == "https://tiles.example/16/2/2.json")
    try await until { told.values.count == 4 }
    #expect(told.values.filter { $0.key == given } == [.requested(given), .cancelled(given)])
    #expect(told.values.filter { $0.key == joined } == [.requested(joined), .changed(joined, bytes: 33)])
    try await rig.cache.close()
    await listening.value
  }
}
