import BothyStore
import BothyTestSupport
import Testing

/// Files that are several versions old, so that the steps of all of them run at once.
@Suite("Steps of several versions at once", .timeLimit(.minutes(5))) struct LaterStepTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static func note(_ fields: FieldSchema...) -> TypeSchema {
    TypeSchema("Note", fields: [FieldSchema("title", .text)] + fields)
  }

  /// Creates a file of version 1 with one note, opens it at version 3, and returns the note.
  private func note(
    _ fields: [String: FieldValue], _ old: TypeSchema, to new: TypeSchema..., steps: [Migration]
  ) throws -> AnyRecord? {
    let before = try LocalStore(at: folder.database, schema: StoreSchema(version: 1, types: [old]))
    var record = AnyRecord("Note", id: "a", fields)
    record["title"] = "kept"
    try before.write { [record] in try $0.insert(record) }
    try before.close()
    let store = try LocalStore(
      at: folder.database, schema: StoreSchema(version: 3, types: new), migrations: steps)
    #expect(try store.diagnose().findings == [])
    return try store.record(RecordID(type: new[0].name, id: "a"))
  }

  private static let number = Migration(
    to: 2,
    .convertField(type: "Note", field: "stars", from: String.self) { .int(Int64($0.text ?? "") ?? 0) })

  @Test("Steps about what came after the file's version change nothing")
  func laterAdditions() throws {
    let steps = [
      Migration(to: 3, .renameField(type: "Note", from: "colour", to: "tint")),
      Migration(to: 3, .dropField(type: "Note", field: "size")),
      Migration(
        to: 3, .convertField(type: "Note", field: "stars", from: String.self) { _ in .int(0) }),
      Migration(to: 3, .makeSensitive(type: "Note", field: "pin")),
      Migration(to: 3, .renameType(from: "Tag", to: "Label")), Migration(to: 3, .dropType("Draft")),
    ]
    let new = Self.note(
      FieldSchema("tint", .text, optional: true), FieldSchema("stars", .int, default: 3),
      FieldSchema("pin", .text, optional: true, sensitive: true))
    let found = try note([:], Self.note(), to: new, TypeSchema("Label", fields: []), steps: steps)
    #expect(found?.fields == ["title": "kept", "stars": 3])
  }

  @Test("A field that a later version renames is converted first", arguments: [false, true])
  func convertedAndRenamed(renamesType: Bool) throws {
    var new = Self.note(FieldSchema("rating", .int))
    var steps = [Self.number, Migration(to: 3, .renameField(type: "Note", from: "stars", to: "rating"))]
    if renamesType {
      new.name = "Memo"
      steps.append(Migration(to: 3, .renameType(from: "Note", to: "Memo")))
    }
    let found = try note(["stars": "4"], Self.note(FieldSchema("stars", .text)), to: new, steps: steps)
    #expect(found?.fields == ["title": "kept", "rating": 4])
  }

  @Test("A field that a later version drops needs no conversion")
  func convertedAndDropped() throws {
    let steps = [Self.number, Migration(to: 3, .dropField(type: "Note", field: "stars"))]
    let found = try note(
      ["stars": "4"], Self.note(FieldSchema("stars", .text)), to: Self.note(), steps: steps)
    #expect(found?.fields == ["title": "kept"])
  }

  @Test("Types and fields are renamed by the case of their letters alone")
  func otherCase() throws {
    var new = TypeSchema("NOTE", fields: [FieldSchema("Title", .text, indexed: true, fullText: true)])
    new.fields.append(FieldSchema("notes", .references(to: "NOTE", onDelete: .nullify)))
    let old = Self.note(FieldSchema("notes", .references(to: "Note", onDelete: .nullify)))
    let steps = [
      Migration(to: 2, .renameType(from: "Note", to: "NOTE")),
      Migration(to: 3, .renameField(type: "NOTE", from: "title", to: "Title")),
    ]
    let found = try note(["notes": .list(["a"])], old, to: new, steps: steps)
    #expect(found?.fields == ["Title": "kept", "notes": .list(["a"])])
  }

  @Test("A step about a field that isn't there covers no other difference")
  func wrongName() throws {
    let old = Self.note(FieldSchema("stars", .text))
    for step in [
      Migration.Step.renameField(type: "Note", from: "star", to: "rating"),
      .dropField(type: "Note", field: "star"), .dropField(type: "Notes", field: "stars"),
    ] {
      expect(.schemaMismatch) {
        let new = Self.note(FieldSchema("rating", .text, optional: true))
        _ = try note(["stars": "4"], old, to: new, steps: [Migration(to: 2, step)])
      }
      let store = try LocalStore(at: folder.database, schema: StoreSchema(version: 1, types: [old]))
      #expect(try store.record(RecordID(type: "Note", id: "a"))?["stars"] == "4")
      try store.write { _ = try $0.delete(RecordID(type: "Note", id: "a")) }
      try store.close()
    }
  }
}
