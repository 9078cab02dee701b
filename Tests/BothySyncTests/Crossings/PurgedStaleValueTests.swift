import BothyStore
import BothySync
import BothyTesting
import Testing

@Suite("Values read before a purge", .timeLimit(.minutes(5)))
struct PurgedStaleValueTests {
  private func story(
    _ between: (SimulatedDevice, SimulatedDevice) async throws -> Void
  ) async throws -> [String: JSONValue]? {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1))
    let b = try world.device("b", memo(1))
    try b.put("Memo", "1", ["title": .text("start"), "note": .text("n")], in: "room")
    await b.store.sync()
    await a.store.sync()
    var read = try #require(try a.record("Memo", "1"))
    try await between(a, b)
    read["note"] = .text("mine")
    try await a.store.save(read)
    await a.store.sync()
    return try await world.server("Memo", "1")
  }
  private let wanted: [String: JSONValue] = ["title": "theirs", "note": "mine", "count": 0]

  @Test("A value read before a remote change reverts nothing")
  func plain() async throws {
    let found = try await story { a, b in
      try b.set("Memo", "1", ["title": .text("theirs")])
      await b.store.sync()
      await a.store.sync()
    }
    #expect(found == wanted)
  }

  @Test("A value read before a purge that brought a remote change reverts nothing")
  func purgedAndFetchedAgain() async throws {
    let found = try await story { a, b in
      try b.set("Memo", "1", ["title": .text("theirs")])
      await b.store.sync()
      try a.store.purge(RecordID(type: "Memo", id: "1"))
      await a.store.sync()
      #expect(try a.record("Memo", "1")?["title"] == .text("theirs"))
    }
    #expect(found == wanted)
  }

  @Test("A value read before a remote change and a purge reverts nothing")
  func purgedAfterTheNews() async throws {
    let found = try await story { a, b in
      try b.set("Memo", "1", ["title": .text("theirs")])
      await b.store.sync()
      await a.store.sync()
      try a.store.purge(RecordID(type: "Memo", id: "1"))
      await a.store.sync()
      #expect(try a.record("Memo", "1")?["title"] == .text("theirs"))
    }
    #expect(found == wanted)
  }

  @Test("A value read before an eviction reverts nothing")
  func evicted() async throws {
    let found = try await story { a, b in
      try a.set("Memo", "1", ["count": .int(3)])
      try a.store.resolve(RecordID(type: "Memo", id: "1"), .removeLocal)
      try b.set("Memo", "1", ["title": .text("theirs")])
      await b.store.sync()
      await a.store.sync()
      #expect(try a.record("Memo", "1")?["title"] == .text("theirs"))
    }
    #expect(found == wanted)
  }

  @Test("A value read before its container was left reverts nothing")
  func notFollowedForAWhile() async throws {
    let found = try await story { a, b in
      try await a.store.follow([SyncScope(container: "other")])
      await a.store.sync()
      try b.set("Memo", "1", ["title": .text("theirs")])
      await b.store.sync()
      try await a.store.follow([.everything])
      await a.store.sync()
      #expect(try a.record("Memo", "1")?["title"] == .text("theirs"))
    }
    #expect(found == wanted)
  }
}
