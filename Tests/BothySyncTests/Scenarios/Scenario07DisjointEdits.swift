import BothyStore
import BothySync
import BothyTesting
import Testing

/// Edits of different fields of one record.
@Suite("Edits of different fields", .timeLimit(.minutes(5)))
struct Scenario07DisjointEdits {
  static let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]

  /// Promises: Scenario-7
  @Test("Edits of different fields on three devices survive in every order of arrival")
  func everyOrder() async throws {
    for order in Self.orders {
      let world = try SimulatedWorld()
      var configuration = SyncOptions.quiet
      configuration.merging = MergePolicies(default: .fieldByField)
      for _ in 0..<3 { try world.addDevice(schema: .notes, configuration: configuration) }
      try world.devices[0].insert("T1", "start")
      for device in world.devices { await device.store.sync() }
      for (index, device) in world.devices.enumerated() { try device.edit { $0.own[index] = index + 1 } }
      for index in order { await world.devices[index].store.sync() }
      for device in world.devices { await device.store.sync() }
      let digest = try await world.serverDigest().digest
      for device in world.devices {
        #expect(try device.note()?.own == [1, 2, 3, nil], "in the order \(order)")
        #expect(try device.store.digest().digest == digest)
        #expect(try device.store.outboxEntries().isEmpty)
      }
    }
  }
}
