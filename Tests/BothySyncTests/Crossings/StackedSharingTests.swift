import BothyLegacy
import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

@Suite("Pending sharing over transactions", .timeLimit(.minutes(5)))
struct StackedSharingTests {
  private static let schema: StoreSchema = {
    var schema = memo(1)
    schema.types[0].permissions = Permissions(read: .shared, update: .shared, delete: .owner)
    return schema
  }()
  private let one = RecordID(type: "Memo", id: "1")

  private func world(_ together: Bool) async throws -> (SimulatedWorld, SimulatedDevice) {
    let world = try SimulatedWorld(rules: AccessRules(schema: Self.schema))
    let a = try world.addDevice("a", schema: Self.schema, user: Caller("alice"))
    try a.put("Memo", "1", ["title": .text("one")])
    await a.store.sync()
    a.remote.isOffline = true
    let one = one
    try await a.store.write(together ? .atomic : .independent) {
      _ = try $0.update(one, fields: ["title": .text("two")])
    }
    return (world, a)
  }

  @Test("Pending sharing counts on top of a transaction", arguments: [false, true])
  func whatIsPendingCounts(together: Bool) async throws {
    let (_, a) = try await world(together)
    try await a.store.sharing.share(
      one, with: Audience(users: ["bob"]), options: .init(writePolicy: .local))
    #expect(try a.store.audience(of: one) == Audience(users: ["bob"]))
  }

  @Test("Sharing can be withdrawn before it is sent", arguments: [false, true])
  func takingItBackBeforeItWasSent(together: Bool) async throws {
    let (world, a) = try await world(together)
    a.store.options.writePolicy = .local
    try await a.store.updateSharing(of: one, to: Audience(users: ["bob"]))
    try await a.store.updateSharing(of: one, to: .nobody)
    a.remote.isOffline = false
    await a.store.sync()
    #expect(try await world.serverRecords()[one]?.sharing == .nobody)
  }
}
