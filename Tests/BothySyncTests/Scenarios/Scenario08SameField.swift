import BothyStore
import BothySync
import BothyTesting
import Testing

/// Edits of the same field of one record.
@Suite("Edits of one field", .timeLimit(.minutes(5)))
struct Scenario08SameField {
  /// Promises: Scenario-8
  @Test(
    "The later of two edits wins, whatever the arrival order and the clocks",
    arguments: [-86_400_000, 0, 86_400_000] as [Int64])
  func laterWins(skew: Int64) async throws {
    for aEditsFirst in [true, false] {
      for aArrivesFirst in [true, false] {
        let pair = try await Pair.sharing(policy: .latestWins, skew: skew)
        let editors = aEditsFirst ? [pair.a, pair.b] : [pair.b, pair.a]
        for device in editors {
          pair.world.time.advance(by: 60_000)
          try device.retitle(device.name)
        }
        pair.world.time.advance(by: 60_000)
        let arrivals = aArrivesFirst ? [pair.a, pair.b] : [pair.b, pair.a]
        for device in arrivals { await device.store.sync() }
        #expect(try await pair.isEven())
        let winner = aEditsFirst ? "b" : "a"
        #expect(try await pair.serverTitle() == winner)
        #expect(try pair.a.title() == winner)
        #expect(try pair.b.title() == winner)
      }
    }
  }

  /// Promises: Scenario-8
  @Test(
    "A field with its own rule takes the later edit; other fields merge"
  )
  func fieldRule() async throws {
    for aArrivesFirst in [true, false] {
      let pair = try Pair(schema: .latest, policy: .fieldByField)
      try pair.a.put(AnyRecord("Doc", id: "D", ["title": .text("start"), "left": .int(0), "right": .int(0)]))
      for device in [pair.a, pair.b] { await device.store.sync() }
      let id = RecordID(type: "Doc", id: "D")
      for (device, side) in [(pair.a, "left"), (pair.b, "right")] {
        pair.world.time.advance(by: 60_000)
        try device.change { _ = try $0.update(id, fields: ["title": .text(device.name), side: .int(1)]) }
      }
      pair.world.time.advance(by: 60_000)
      for device in aArrivesFirst ? [pair.a, pair.b] : [pair.b, pair.a] { await device.store.sync() }
      #expect(try await pair.isEven())
      #expect(try await pair.server("D", type: "Doc") == ["title": "b", "left": 1, "right": 1])
    }
  }
}

extension StoreSchema {
  fileprivate static let latest = StoreSchema(
    types: [
      TypeSchema(
        "Doc",
        fields: [
          .field("title", String.self, merge: .latest), .field("left", Int.self), .field("right", Int.self),
        ])
    ])
}
