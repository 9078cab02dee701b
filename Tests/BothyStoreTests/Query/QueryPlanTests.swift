import BothyStore
import Testing

/// The queries that an index serves.
@Suite(.timeLimit(.minutes(5))) struct QueryPlanTests {
  private static let type = TypeSchema(
    "Item",
    fields: [
      FieldSchema("rank", .int, indexed: true), FieldSchema("due", .date, optional: true, indexed: true),
    ])

  private func plan(_ query: AnyQuery) throws -> String {
    try LocalStore(inMemory: StoreSchema(types: [Self.type])).plan(query)
  }

  @Test("A page in descending order begins at its place in the index")
  func descending() throws {
    let record = AnyRecord("Item", id: "m", ["rank": 500])
    var query = AnyQuery("Item", order: [SortKey("rank", ascending: false)], limit: 10)
    query.filter = query.continuations(after: record, Self.type).first ?? .none
    #expect(try plan(query).contains("(rank<?)"))
  }

  @Test("A tree of containers is read by ranges of an index")
  func tree() throws {
    let query = AnyQuery("Item", container: "trips/alps", includesChildren: true)
    let found = try plan(query)
    #expect(!found.contains("SCAN"), "\(found)")
    #expect(found.contains("_container>? AND _container<?"), "\(found)")
  }

  @Test("One container is read by an index")
  func container() throws {
    let found = try plan(AnyQuery("Item", container: "trips/alps"))
    #expect(!found.contains("SCAN"), "\(found)")
  }

  @Test("A tree has its own container, those below it and no neighbour")
  func members() throws {
    let store = try LocalStore(inMemory: StoreSchema(types: [Self.type]))
    let containers = [
      "Item", "Item/a", "Items", "trips", "trips/alps", "trips/alps/day", "trips/alps-2", "trips0", "",
    ]
    try store.write(origin: .remote) { transaction in
      let table = try transaction.catalog.table("Item")
      for container in containers {
        try transaction.put(
          table, id: container, StoredRow(values: [1, .null], container: container, version: "1"))
      }
    }
    for root in containers + ["none"] {
      let query = AnyQuery("Item", container: root, includesChildren: true)
      let expected = containers.filter { root.isEmpty || $0 == root || $0.hasPrefix(root + "/") }
      #expect(try store.fetch(query).map(\.id) == expected.sorted(), "\(root)")
    }
  }
}
