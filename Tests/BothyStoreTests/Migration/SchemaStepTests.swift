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
}
