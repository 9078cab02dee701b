import BothyStore
import BothySync
import BothyTesting
import Testing

/// An app that goes from version 1 to 3, beside a device that has version 2. Its steps change what version 2 had added.
@Suite("Updates of the app over a version", .timeLimit(.minutes(5)))
struct SkippedVersionTests {
  private static func second(_ fields: FieldSchema...) -> StoreSchema { memo(2, extra: fields) }

  @Test("Values of the skipped version are renamed and converted, and none is sent")
  func renamedAndConverted() async throws {
    let world = try SimulatedWorld()
    let a = try world.device(
      "a",
      Self.second(FieldSchema("stars", .text, default: "0"), FieldSchema("colour", .text, optional: true)))
    let b = try world.device("b", memo(1))
    try a.put("Memo", "M1", ["title": "one", "stars": "4", "colour": "red"])
    try b.put("Memo", "M2", ["title": "two"])
    for device in [a, b] { await device.store.sync() }
    try b.set("Memo", "M1", ["title": "edited"])
    try b.restart(
      schema: memo(
        3, extra: [FieldSchema("stars", .int, default: 0), FieldSchema("paint", .text, default: "none")]),
      migrations: [
        Migration(to: 3, .renameField(type: "Memo", from: "colour", to: "paint")),
        Migration(
          to: 3,
          .convertField(type: "Memo", field: "stars", from: String.self) {
            .int(Int64($0.text ?? "") ?? 0)
          }),
      ])
    let first = try #require(try b.record("Memo", "M1"))
    #expect(first["title"] == "edited" && first["stars"] == 4 && first["paint"] == "red")
    let second = try #require(try b.record("Memo", "M2"))
    #expect(second["stars"] == 0 && second["paint"] == "none")
    #expect(await b.store.sync().pushed == 1)
    #expect(
      try await world.server("Memo", "M1")
        == ["title": "edited", "count": 0, "stars": "4", "colour": "red"])
    #expect(try await world.server("Memo", "M2") == ["title": "two", "count": 0])
    #expect(try await world.serverDigest().digest == b.store.digest().digest)
    #expect(try b.store.diagnose().findings.isEmpty)
  }

  @Test("A value that became sensitive meanwhile does not stay in the file") func sensitive() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", Self.second(FieldSchema("pin", .text, optional: true)))
    let b = try world.device("b", memo(1))
    try a.put("Memo", "M1", ["title": "one", "pin": "1234"])
    for device in [a, b] { await device.store.sync() }
    #expect(try b.record("Memo", "M1")?.unknownFields?.contains("1234") == true)
    try b.restart(
      schema: memo(3, extra: [FieldSchema("pin", .text, optional: true, sensitive: true)]),
      migrations: [Migration(to: 3, .makeSensitive(type: "Memo", field: "pin"))])
    let record = try #require(try b.record("Memo", "M1"))
    #expect(record["title"] == "one" && record["pin"].isNull && record.unknownFields == nil)
  }
}
