import BothyStore
import BothySync
import BothyTesting
import Testing

@Suite("Queries over renamed fields", .timeLimit(.minutes(5)))
struct SwappedFieldQueryTests {
  private static func schema(_ version: Int) -> StoreSchema {
    StoreSchema(
      version: version,
      types: [
        TypeSchema(
          "Memo", fields: [FieldSchema("x", .text, optional: true), FieldSchema("y", .text, optional: true)])
      ])
  }

  private static let swap = [("x", "t"), ("y", "x"), ("t", "y")].map { from, to in
    Migration(to: 2, .renameField(type: "Memo", from: from, to: to))
  }

  @Test("An answer doesn't count for the same query once its fields were renamed")
  func swapped() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", Self.schema(1))
    let b = try world.device("b", Self.schema(1)) { $0.scopes = [] }
    try a.put("Memo", "1", ["x": "home"])
    try a.put("Memo", "2", ["y": "home"])
    await a.store.sync()
    let query = AnyQuery("Memo", where: .compare(field: "x", .equal, "home"))
    let before = try await b.store.fetchResult(query, options: .reading(.localElseRemote))
    #expect(before.records.map(\.id) == ["1"])
    try b.restart(schema: Self.schema(2), migrations: Self.swap)
    let after = try await b.store.fetchResult(query, options: .reading(.localElseRemote))
    #expect(after.records.map(\.id) == ["2"])
  }
}
