import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Foundation
import Testing

@Suite("Refused blobs in transactions", .timeLimit(.minutes(5)))
struct BlobRefusalCuredTests {
  static let schema = StoreSchema(
    version: 1,
    types: [
      TypeSchema(
        "Snap",
        fields: [
          FieldSchema("title", .text), FieldSchema("image", .blob, optional: true),
          FieldSchema("bad", .text, optional: true),
        ])
    ])
  private static var serverSchema: StoreSchema {
    StoreSchema(
      version: 1,
      types: [
        TypeSchema(
          "Snap", fields: [FieldSchema("title", .text), FieldSchema("image", .blob, optional: true)])
      ])
  }

  private func story(blob: Bool) async throws {
    let world = try SimulatedWorld(
      rules: AccessRules(schema: Self.serverSchema), blobs: BlobLimits(largest: 10))
    let a = try world.device("a", Self.schema)
    let big = try await a.store.blobs.add(Data(repeating: 7, count: 50))
    let bad: [String: FieldValue] = blob ? ["image": FieldValue(big)] : ["bad": .text("x")]
    try a.atomic {
      try $0.insert(AnyRecord("Snap", id: "1", bad.merging(["title": .text("one")]) { $1 }))
      try $0.insert(AnyRecord("Snap", id: "2", ["title": .text("two")]))
    }
    // The user removes it before the server has rejected anything.
    try a.set("Snap", "1", [blob ? "image" : "bad": .null])
    for _ in 0..<4 {
      world.time.advance(by: 600_000)
      await a.store.sync()
    }
    #expect(try a.store.outboxEntries().isEmpty)
    #expect(try await world.server("Snap", "2") != nil)
    #expect(try await world.server("Snap", "1") == ["title": "one"])
  }

  @Test("An edit made before the rejection cures a rejected field")
  func field() async throws { try await story(blob: false) }
  @Test("An edit made before the rejection cures a rejected blob")
  func blob() async throws { try await story(blob: true) }

  @Test("The rejection policy applies to rejected blobs")
  func discarded() async throws {
    let world = try SimulatedWorld(blobs: BlobLimits(largest: 10))
    let a = try world.device("a", Self.schema) { $0.rejectionPolicy = .discardAndRefetch }
    try a.put("Snap", "1", ["title": .text("one")])
    await a.store.sync()
    let big = try await a.store.blobs.add(Data(repeating: 7, count: 50))
    try a.set("Snap", "1", ["image": FieldValue(big)])
    await a.store.sync()
    #expect(try a.store.outboxEntries().isEmpty)
    #expect(try a.record("Snap", "1")?["image"] == .null)
  }
}
