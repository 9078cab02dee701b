import BothyStore
import BothyTestSupport
import Testing

/// Schemas that a stored file meets with the steps it needs, or without.
@Suite("Changes of a stored schema", .timeLimit(.minutes(5))) struct SchemaStepTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func schema(_ version: Int, note: String, _ fields: [FieldSchema] = []) -> StoreSchema {
    StoreSchema(
      version: version,
      types: [
        TypeSchema(note, fields: [FieldSchema("title", .text)] + fields),
        TypeSchema("Box", fields: [FieldSchema("notes", .references(to: note, onDelete: .deny))]),
      ])
  }

  /// Creates a file with one note in one box and closes it.
  private func seed() throws {
    let store = try LocalStore(at: folder.database, schema: schema(1, note: "Note"))
    try store.write { transaction in
      try transaction.insert(AnyRecord("Note", id: "n", ["title": "kept"]))
      try transaction.insert(AnyRecord("Box", id: "b", ["notes": .list(["n"])]))
    }
    try store.close()
  }

  @Test("Lists that refer to a renamed type refer to it by its new name")
  func renamedTarget() throws {
    try seed()
    let store = try LocalStore(
      at: folder.database, schema: schema(2, note: "Memo"),
      migrations: [Migration(to: 2, .renameType(from: "Note", to: "Memo"))])
    #expect(try store.diagnose().findings == [])
    expect(.denied) { try store.write { _ = try $0.delete(RecordID(type: "Memo", id: "n")) } }
    #expect(try store.record(RecordID(type: "Memo", id: "n"))?["title"] == "kept")
  }

  @Test("A new required field without a default is refused, and the file stays")
  func newRequiredField() throws {
    try seed()
    let wider = schema(2, note: "Note", [FieldSchema("stars", .int)])
    expect(.schemaMismatch) { _ = try LocalStore(at: folder.database, schema: wider) }
    let store = try LocalStore(at: folder.database, schema: schema(1, note: "Note"))
    #expect(try store.record(RecordID(type: "Note", id: "n"))?.fields == ["title": "kept"])
    #expect(try store.diagnose().findings == [])
  }

  @Test("A list that refers to another type now is found by it", arguments: ["Card", nil])
  func otherTarget(target: String?) throws {
    try seed()
    var changed = schema(2, note: "Note")
    changed.types.append(TypeSchema("Card", fields: []))
    changed.types[1].fields[0].kind = target.map { ValueKind.references(to: $0, onDelete: .deny) } ?? .json
    let store = try LocalStore(at: folder.database, schema: changed)
    #expect(try store.count(AnyQuery("Box", where: ConditionTree.includes(field: "notes", "n"))) == 1)
    #expect(try store.diagnose().findings == [])
    try store.write { transaction in
      try transaction.insert(AnyRecord("Card", id: "n"))
      try transaction.delete(RecordID(type: "Note", id: "n"))
    }
    guard target != nil else { return }
    expect(.denied) { try store.write { _ = try $0.delete(RecordID(type: "Card", id: "n")) } }
  }

  @Test("The default of a list that becomes required refers to its records")
  func requiredList() throws {
    func schema(_ version: Int, optional: Bool) -> StoreSchema {
      let notes = FieldSchema(
        "notes", .references(to: "Box", onDelete: .deny), optional: optional,
        default: optional ? nil : .list(["b"]))
      return StoreSchema(version: version, types: [TypeSchema("Box", fields: [notes])])
    }
    let before = try LocalStore(at: folder.database, schema: schema(1, optional: true))
    try before.write { try $0.insert(AnyRecord("Box", id: "a")) }
    try before.close()
    let store = try LocalStore(at: folder.database, schema: schema(2, optional: false))
    #expect(try store.record(RecordID(type: "Box", id: "a"))?["notes"] == .list(["b"]))
    #expect(try store.diagnose().findings == [])
  }
}
