import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// A field whose kind a newer app converts, while the server and older apps have the old kind.
@Suite("A converted field beside older apps", .timeLimit(.minutes(5)))
struct ConvertedKindTests {
  struct NoNumber: Error {}

  private static func memo(_ version: Int, _ count: FieldSchema) -> StoreSchema {
    StoreSchema(
      version: version, types: [TypeSchema("Memo", fields: [FieldSchema("title", .text), count])])
  }

  private static let old = memo(1, FieldSchema("count", .text))
  private static let new = memo(2, FieldSchema("total", .int, default: 3))
  private static let steps = [
    Migration(to: 2, .renameField(type: "Memo", from: "count", to: "total")),
    Migration(
      to: 2,
      .convertField(type: "Memo", field: "total", from: String.self) { value in
        guard let text = value.text, let number = Int64(text) else { throw NoNumber() }
        return .int(number)
      }),
  ]

  private func id(_ name: String) -> RecordID { RecordID(type: "Memo", id: name) }

  private func total(_ device: SimulatedDevice, _ name: String = "M1") throws -> FieldValue? {
    try device.record("Memo", name)?["total"]
  }

  private func server(_ world: SimulatedWorld) async throws -> [String: JSONValue]? {
    try await world.serverRecords()[id("M1")]?.fields.members()
  }

  private func isEven(_ world: SimulatedWorld, _ devices: [SimulatedDevice]) async throws -> Bool {
    for device in devices { await device.store.sync() }
    let digest = try await world.serverDigest().digest
    return try devices.allSatisfy { try $0.store.digest().digest == digest }
  }

  /// Promises: A-12
  @Test("A value of the old kind is converted when it arrives, until written")
  func arrives() async throws {
    let world = try SimulatedWorld()
    let older = try world.addDevice("older", schema: Self.old)
    try older.put(AnyRecord("Memo", id: "M1", ["title": "a", "count": "5"]))
    await older.store.sync()
    let newer = try world.addDevice("newer", schema: Self.new, migrations: Self.steps)
    #expect(try await isEven(world, [newer]))
    #expect(try total(newer) == 5)
    try older.change { _ = try $0.update(id("M1"), fields: ["count": "7"]) }
    #expect(try await isEven(world, [older, newer]))
    #expect(try total(newer) == 7)
    // An edit of another field leaves the old app's value as it is.
    try newer.change { _ = try $0.update(id("M1"), fields: ["title": "b"]) }
    #expect(try await isEven(world, [newer, older]))
    #expect(try await server(world) == ["title": "b", "count": "7"])
    #expect(try older.record("Memo", "M1")?.fields == ["title": "b", "count": "7"])
    // An edit of the field writes the new kind, which the old app keeps.
    try newer.change { _ = try $0.update(id("M1"), fields: ["total": 9]) }
    #expect(try await isEven(world, [newer, older]))
    try older.change { _ = try $0.update(id("M1"), fields: ["title": "c"]) }
    #expect(try await isEven(world, [older, newer]))
    #expect(try await server(world) == ["title": "c", "count": 9])
    #expect(try total(newer) == 9)
  }

  @Test("A converted file keeps its values over a full pull")
  func fullPull() async throws {
    let world = try SimulatedWorld()
    let device = try world.addDevice("a", schema: Self.old)
    try device.put(AnyRecord("Memo", id: "M1", ["title": "a", "count": "5"]))
    await device.store.sync()
    try device.restart(schema: Self.new, migrations: Self.steps)
    #expect(try total(device) == 5)
    try await world.storage.startEpoch(space: "test")
    #expect(try await isEven(world, [device]))
    #expect(try total(device) == 5)
    #expect(try await server(world)?["count"] == "5")
  }

  /// Promises: A-13
  @Test("A value that a step can't convert shows the default, and edits keep it")
  func failing() async throws {
    let world = try SimulatedWorld()
    let older = try world.addDevice("older", schema: Self.old)
    try older.put(AnyRecord("Memo", id: "M1", ["title": "a", "count": "many"]))
    await older.store.sync()
    let newer = try world.addDevice("newer", schema: Self.new, migrations: Self.steps)
    await newer.store.sync()
    #expect(try total(newer) == 3)
    try newer.change { _ = try $0.update(id("M1"), fields: ["title": "b"]) }
    #expect(try await isEven(world, [newer, older]))
    #expect(try await server(world) == ["title": "b", "count": "many"])
  }

  @Test("A merged value of a converted field is sent in the new kind")
  func chosen() async throws {
    let world = try SimulatedWorld()
    var configuration = SyncOptions.quiet
    configuration.merging = MergePolicies(
      default: .custom("mine") { context in context.client.map { .merged($0) } ?? .server })
    let older = try world.addDevice("older", schema: Self.old)
    try older.put(AnyRecord("Memo", id: "M1", ["title": "a", "count": "5"]))
    await older.store.sync()
    let newer = try world.addDevice(
      "newer", schema: Self.new, migrations: Self.steps, configuration: configuration)
    await newer.store.sync()
    try older.change { _ = try $0.update(id("M1"), fields: ["count": "7"]) }
    await older.store.sync()
    try newer.change { _ = try $0.update(id("M1"), fields: ["total": 8]) }
    #expect(try await isEven(world, [newer, older, newer]))
    #expect(try await server(world)?["count"] == 8)
    #expect(try total(newer) == 8)
  }
}
