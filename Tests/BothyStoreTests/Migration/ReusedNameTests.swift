import BothyStore
import BothyTestSupport
import Testing

/// Steps that build on each other, and names that one field has after another.
@Suite("Names of fields over several steps", .timeLimit(.minutes(5))) struct ReusedNameTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static func schema(_ version: Int, type: String = "Note", _ fields: String...) -> StoreSchema {
    StoreSchema(
      version: version,
      types: [TypeSchema(type, fields: fields.map { FieldSchema($0, .text, optional: true) })])
  }

  private static func rename(_ version: Int, _ from: String, _ to: String, of type: String = "Note")
    -> Migration
  { Migration(to: version, .renameField(type: type, from: from, to: to)) }

  private static func swap(_ versions: [Int]) -> [Migration] {
    zip(versions, [("x", "t"), ("y", "x"), ("t", "y")]).map { rename($0, $1.0, $1.1) }
  }

  /// Creates a file with one note, opens it with the steps, and returns the store and the note.
  private func migrated(
    _ fields: [String: FieldValue], _ old: StoreSchema, to new: StoreSchema, _ steps: [Migration]
  ) throws -> (store: LocalStore, note: AnyRecord?) {
    let before = try LocalStore(at: folder.database, schema: old)
    try before.write { try $0.insert(AnyRecord("Note", id: "a", fields)) }
    try before.close()
    let store = try LocalStore(at: folder.database, schema: new, migrations: steps)
    return (store, try store.record(RecordID(type: new.types[0].name, id: "a")))
  }

  static let versions: [(old: StoreSchema, new: StoreSchema, steps: [Migration])] = [
    (
      schema(1, "title"), schema(2, type: "Memo", "name"),
      [Migration(to: 2, .renameType(from: "Note", to: "Memo")), rename(2, "title", "name", of: "Memo")]
    ),
    (schema(1, "title"), schema(2, "name"), [rename(2, "title", "subject"), rename(2, "subject", "name")]),
    (
      schema(1, "x", "y"), schema(2, "x"),
      [Migration(to: 2, .dropField(type: "Note", field: "x")), rename(2, "y", "x")]
    ),
    (schema(1, "x", "y"), schema(2, "x", "y"), swap([2, 2, 2])),
    (schema(1, "x", "y"), schema(4, "x", "y"), swap([2, 3, 4])),
    (schema(1, "x", "y"), schema(3, "z", "x"), [rename(2, "x", "z"), rename(3, "y", "x")]),
  ]

  @Test("A new file has the wire names of a file that ran the steps", arguments: 0..<versions.count)
  func newFile(number: Int) throws {
    let (old, new, steps) = Self.versions[number]
    let (store, _) = try migrated([:], old, to: new, steps)
    #expect(store.schema == new.naming(by: steps))
    let fresh = try LocalStore(at: folder.file("new.bothy"), schema: new, migrations: steps)
    #expect(fresh.schema == store.schema)
    let wireNames = Set(old.types[0].fields.map(\.name))
    #expect(Set(store.schema.types[0].fields.map(\.wireName)).isSubset(of: wireNames))
    #expect(store.schema.types[0].wireName == "Note")
  }

  @Test("A field keeps its values under the name of a dropped one", arguments: [2, 3])
  func dropped(version: Int) throws {
    let steps = [Migration(to: 2, .dropField(type: "Note", field: "x")), Self.rename(version, "y", "x")]
    let (store, note) = try migrated(
      ["x": "dropped", "y": "kept"], Self.schema(1, "x", "y"), to: Self.schema(3, "x"), steps)
    #expect(note?.fields == ["x": "kept"])
    #expect(try store.diagnose().findings == [])
  }

  @Test("Two fields exchange their names with their values", arguments: [[2, 2, 2], [2, 3, 4]])
  func exchanged(versions: [Int]) throws {
    let (store, note) = try migrated(
      ["x": "X", "y": "Y"], Self.schema(1, "x", "y"), to: Self.schema(4, "x", "y"), Self.swap(versions))
    #expect(note?.fields == ["x": "Y", "y": "X"])
    #expect(store.schema.types[0]["x"]?.wireName == "y" && store.schema.types[0]["y"]?.wireName == "x")
  }

  @Test("An alias gives no value to a record that has one")
  func alias() throws {
    func schema(_ version: Int, _ fields: FieldSchema...) -> StoreSchema {
      StoreSchema(version: version, types: [TypeSchema("Note", fields: fields)])
    }
    let heading = FieldSchema("heading", .text, optional: true, wire: "title", aliases: ["head"])
    let before = try LocalStore(at: folder.database, schema: schema(1, heading))
    try before.write { transaction in
      let table = try transaction.catalog.table("Note")
      for (id, value) in [("a", FieldValue.text("own")), ("b", .null)] {
        let row = StoredRow(values: [value], version: "1", unknownFields: #"{"head":"other"}"#)
        try transaction.put(table, id: id, row)
      }
    }
    try before.close()
    let store = try LocalStore(
      at: folder.database, schema: schema(2, heading, FieldSchema("note", .text, optional: true)))
    #expect(try store.record(RecordID(type: "Note", id: "a"))?["heading"] == "own")
    #expect(try store.record(RecordID(type: "Note", id: "b"))?["heading"] == "other")
  }
}
