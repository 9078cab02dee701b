import Bothy
import BothyTesting
import Testing

@Entity private struct Hut {
  var name: String
  @Merge(.max) var beds = 4
  @Merge(.counter) var visits = 0
}

@Suite("The pictures of the article about conflicts", .timeLimit(.minutes(5)))
struct ConflictPicturesTests {
  /// Runs a conflict as it is drawn, and returns the result of a policy on both devices.
  private func settled(
    by policy: MergePolicy, adaIsLater: Bool = false
  ) async throws -> (hut: Hut, overwritten: Int) {
    let world = try SimulatedWorld()
    var configuration = SyncOptions.quiet
    configuration.merging = MergePolicies(default: policy)
    let ada = try world.addDevice("ada", schema: StoreSchema(Hut.self), configuration: configuration)
    let ben = try world.addDevice("ben", schema: StoreSchema(Hut.self), configuration: configuration)
    let hut = Hut(name: "Corrour", visits: 10)
    try await ada.store.save(hut)
    for device in [ada, ben] { await device.store.sync() }

    for editor in adaIsLater ? [ben, ada] : [ada, ben] {
      world.time.advance(by: 60_000)
      let isAda = editor.name == ada.name
      try await editor.store.store.write { transaction in
        _ = try transaction.update(Hut.self, id: hut.id) { hut in
          if isAda { (hut.beds, hut.visits) = (6, 12) } else { (hut.name, hut.visits) = ("Corrour Hut", 11) }
        }
      }
    }
    await ben.store.sync()
    let report = await ada.store.sync()
    for device in [ada, ben] { await device.store.sync() }
    #expect(try await world.snapshot().isEven)
    return (try #require(try await ben.store.store.fetch(Hut.self, id: hut.id)), report.overwritten.count)
  }

  @Test(
    "Each policy resolves the conflict as it is drawn",
    arguments: [
      (MergePolicy.remoteWins, "Corrour Hut", 4, 11, 1), (.localWins, "Corrour", 6, 12, 0),
      (.localWins(.changedFields), "Corrour Hut", 6, 12, 0), (.fieldByField, "Corrour Hut", 6, 13, 0),
    ])
  func drawn(policy: MergePolicy, name: String, beds: Int, visits: Int, overwritten: Int) async throws {
    let settled = try await settled(by: policy)
    #expect(
      (settled.hut.name, settled.hut.beds, settled.hut.visits) == (name, beds, visits), "\(policy.name)")
    #expect(settled.overwritten == overwritten, "\(policy.name)")
  }

  @Test(
    "The later edit wins as a whole, and your earlier edit is reported", arguments: [true, false])
  func later(isYours: Bool) async throws {
    let settled = try await settled(by: .latestWins, adaIsLater: isYours)
    let (name, beds, visits) = isYours ? ("Corrour", 6, 12) : ("Corrour Hut", 4, 11)
    #expect((settled.hut.name, settled.hut.beds, settled.hut.visits) == (name, beds, visits))
    #expect(settled.overwritten == (isYours ? 0 : 1))
  }
}
