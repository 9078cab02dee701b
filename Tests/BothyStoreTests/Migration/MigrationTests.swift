import BothyStore
import BothyTestSupport
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct MigrationTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func schema(_ version: Int, _ fields: FieldSchema..., type: String = "Note") -> StoreSchema {
    StoreSchema(version: version, types: [TypeSchema(type, fields: fields)])
  }

  private func open(_ schema: StoreSchema, _ migrations: [Migration] = []) throws -> LocalStore {
    try LocalStore(at: folder.database, schema: schema, migrations: migrations)
  }

  /// Creates a file with one note and closes it.
  private func seed(_ schema: StoreSchema, _ fields: [String: FieldValue] = ["title": "old"]) throws {
    let store = try open(schema)
    try store.write { try $0.insert(AnyRecord(schema.types[0].name, id: "a", fields)) }
    try store.close()
  }

  private var bytes: Data { get throws { try Data(contentsOf: URL(fileURLWithPath: folder.database)) } }

  private func note(_ store: LocalStore, _ type: String = "Note") throws -> AnyRecord? {
    try store.record(RecordID(type: type, id: "a"))
  }

  private let title = FieldSchema("title", .text)

  @Test("New types, optional fields and fields with a default need no step")
  func additive() throws {
    try seed(schema(1, title))
    var wider = schema(
      2, title, FieldSchema("stars", .int, default: 3, indexed: true),
      FieldSchema("place", .coordinate, optional: true),
      FieldSchema("friends", .references(to: "Friend", onDelete: .deny), default: .list(["f"])))
    wider.types.append(TypeSchema("Friend", fields: []))
    let store = try open(wider)
    #expect(try note(store)?.fields == ["title": "old", "stars": 3, "friends": .list(["f"])])
    #expect(try store.diagnose().findings == [])
    try store.write { try $0.insert(AnyRecord("Friend", id: "f")) }
    expect(.denied) { try store.write { _ = try $0.delete(RecordID(type: "Friend", id: "f")) } }
  }

  @Test("A field that becomes required fills the gaps with its default")
  func becomesRequired() throws {
    let optional = FieldSchema("stars", .int, optional: true)
    try seed(schema(1, title, optional))
    expect(.schemaMismatch) { _ = try open(schema(2, title, FieldSchema("stars", .int))) }
    let store = try open(schema(2, title, FieldSchema("stars", .int, default: 5)))
    #expect(try note(store)?["stars"] == 5)
  }

  @Test("A field that becomes unique over equal values is refused with the way on")
  func becomesUnique() throws {
    func open(_ version: Int, isUnique: Bool) throws -> LocalStore {
      let key = FieldSchema("key", .text, unique: isUnique)
      return try self.open(
        StoreSchema(version: version, types: [TypeSchema("Setting", fields: [key], synced: false)]))
    }
    var store = try open(1, isUnique: false)
    try store.write { transaction in
      for id in ["a", "b"] { try transaction.insert(AnyRecord("Setting", id: id, ["key": "one"])) }
    }
    try store.close()
    let error = #expect(throws: BothyError.self) { _ = try open(2, isUnique: true) }
    #expect(error?.code == .migrationFailed && error?.message.contains("Setting.key") == true)
    store = try open(1, isUnique: false)
    try store.write { _ = try $0.update(RecordID(type: "Setting", id: "b"), fields: ["key": "two"]) }
    try store.close()
    store = try open(2, isUnique: true)
    #expect(try store.diagnose().findings == [])
    expect(.uniqueViolation) {
      try store.write { try $0.insert(AnyRecord("Setting", id: "c", ["key": "two"])) }
    }
  }

  @Test("Fields and types are renamed with their data, indexes and references")
  func rename() throws {
    try seed(schema(1, FieldSchema("title", .text, indexed: true, fullText: true)))
    let new = schema(2, FieldSchema("name", .text, indexed: true, fullText: true), type: "Memo")
    let store = try open(
      new,
      [
        Migration(to: 2, .renameType(from: "Note", to: "Memo")),
        Migration(to: 2, .renameField(type: "Memo", from: "title", to: "name")),
      ])
    #expect(try note(store, "Memo")?["name"] == "old")
    #expect(try store.diagnose().findings == [])
  }

  @Test("A field is converted row by row")
  func convert() throws {
    try seed(schema(1, title, FieldSchema("stars", .text, indexed: true)), ["title": "old", "stars": "4"])
    let new = schema(2, title, FieldSchema("stars", .int, indexed: true))
    expect(.schemaMismatch) { _ = try open(new) }
    func step(from kind: any FieldConvertible.Type) -> Migration {
      Migration(
        to: 2, .convertField(type: "Note", field: "stars", from: kind) { .int(Int64($0.text ?? "") ?? 0) })
    }
    expect(.migrationFailed) { _ = try open(new, [step(from: Bool.self)]) }
    let store = try open(new, [step(from: String.self)])
    #expect(try note(store)?["stars"] == 4)
    #expect(try store.diagnose().findings == [])
  }

  @Test("Text that becomes a list of references is indexed as one")
  func convertToList() throws {
    try seed(schema(1, title))
    var new = schema(2, FieldSchema("title", .references(to: "Note", onDelete: .deny)))
    new.version = 2
    expect(.schemaMismatch) { _ = try open(new) }
    let step = Migration.Step.convertField(type: "Note", field: "title", from: String.self) { _ in
      .list(["a", "b"])
    }
    let store = try open(new, [Migration(to: 2, step)])
    #expect(try store.count("SELECT count(*) FROM bothy_link") == 2)
    #expect(try store.diagnose().findings == [])
  }

  @Test("Only a declared step drops fields and types")
  func drop() throws {
    try seed(schema(1, title, FieldSchema("stars", .int, default: 1, indexed: true)))
    expect(.schemaMismatch) { _ = try open(schema(2, title)) }
    let store = try open(schema(2, title), [Migration(to: 2, .dropField(type: "Note", field: "stars"))])
    #expect(try note(store)?.fields == ["title": "old"])
    try store.close()
    expect(.schemaMismatch) { _ = try open(StoreSchema(version: 3, types: [])) }
    let empty = try open(StoreSchema(version: 3, types: []), [Migration(to: 3, .dropType("Note"))])
    #expect(try empty.count("SELECT count(*) FROM sqlite_master WHERE name = 'Note'") == 0)
  }

  @Test("Steps run in the order of versions, each once")
  func order() throws {
    func local(_ version: Int) -> StoreSchema {
      StoreSchema(version: version, types: [TypeSchema("Note", fields: [title], synced: false)])
    }
    try seed(local(1))
    func append(_ text: String) -> Migration.Step {
      .convertField(type: "Note", field: "title", from: String.self) { .text(($0.text ?? "") + text) }
    }
    let steps = [Migration(to: 3, append("3")), Migration(to: 2, append("2")), Migration(to: 1, append("1"))]
    let store = try open(local(3), steps)
    #expect(try note(store)?["title"] == "old23")
    try store.close()
    #expect(try note(open(local(3), steps))?["title"] == "old23")
  }

  @Test("Two conversions of a field run one after the other, each from its kind")
  func chain() throws {
    try seed(schema(1, title, FieldSchema("stars", .text)), ["title": "old", "stars": "4"])
    let steps = [
      Migration(
        to: 2,
        .convertField(type: "Note", field: "stars", from: String.self) { .int(Int64($0.text ?? "") ?? 0) }),
      Migration(to: 3, .convertField(type: "Note", field: "stars", from: Int.self) { .bool($0 == .int(4)) }),
    ]
    let store = try open(schema(3, title, FieldSchema("stars", .bool)), steps)
    #expect(try note(store)?["stars"] == .bool(true))
  }

  @Test("A flag that becomes a number needs a step if its type is synced", arguments: [true, false])
  func flag(isSynced: Bool) throws {
    func schema(_ version: Int, _ kind: ValueKind) -> StoreSchema {
      let note = TypeSchema("Note", fields: [FieldSchema("stars", kind)], synced: isSynced)
      return StoreSchema(version: version, types: [note])
    }
    try seed(schema(1, .bool), ["stars": .bool(true)])
    let step = Migration.Step.convertField(type: "Note", field: "stars", from: Bool.self) {
      $0 == .bool(true) ? .int(1) : .int(0)
    }
    if isSynced { expect(.schemaMismatch) { _ = try open(schema(2, .int)) } }
    let store = try open(schema(2, .int), isSynced ? [Migration(to: 2, step)] : [])
    #expect(try note(store)?["stars"] == .int(1))
  }

  @Test("A conversion whose old values look like new ones is refused for synced types")
  func indistinct() throws {
    let kinds: [(any FieldConvertible.Type, ValueKind)] = [
      (String.self, .uuid), (Int.self, .double), (Date.self, .int), (String.self, .text), (Bool.self, .json),
    ]
    for (old, new) in kinds {
      let step = Migration.Step.convertField(type: "Note", field: "name", from: old) { $0 }
      let error = #expect(throws: BothyError.self) {
        _ = try open(schema(2, FieldSchema("name", new)), [Migration(to: 2, step)])
      }
      #expect(error?.code == .invalidSchema)
      #expect(error?.message.contains("Note.name") ?? false)
      #expect(error?.message.hasSuffix("Declare a new field, and fill it in a transaction.") ?? false)
    }
  }

  @Test("A failing step leaves the file unchanged")
  func failure() throws {
    struct Refusal: Error {}
    try seed(schema(1, title))
    let steps = [
      Migration(to: 2, .renameField(type: "Note", from: "title", to: "name")),
      Migration(
        to: 2, .convertField(type: "Note", field: "name", from: String.self) { _ in throw Refusal() }),
    ]
    expect(.migrationFailed) { _ = try open(schema(2, FieldSchema("name", .int)), steps) }
    let store = try open(schema(1, title))
    #expect(try note(store)?["title"] == "old")
    #expect(try store.diagnose().findings == [])
  }

  @Test("A file of a newer schema or a newer format is refused and unchanged")
  func newer() throws {
    try seed(schema(2, title))
    var before = try bytes
    expect(.newerFile) { _ = try open(schema(1, title)) }
    #expect(try bytes == before)
    let store = try open(schema(2, title))
    try store.tamper("PRAGMA user_version = 99")
    try store.close()
    before = try bytes
    expect(.newerFile) { _ = try open(schema(2, title)) }
    expect(.newerFile) { _ = try LocalStore(existing: folder.database) }
    #expect(try bytes == before)
  }

  @Test("A new type takes over the name of an index that goes")
  func indexName() throws {
    let day = FieldSchema("day_name", .text, default: "")
    var indexed = day
    indexed.isIndexed = true
    try seed(schema(1, title, indexed))
    var next = schema(2, title, day)
    next.types.append(TypeSchema("Note_day", fields: [FieldSchema("name", .text, indexed: true)]))
    let store = try open(next)
    #expect(try note(store)?["title"] == "old")
    #expect(try store.diagnose().findings == [])
  }

  @Test("A file of the second format opens, and gets the columns of the metadata")
  func secondFormat() throws {
    try seed(schema(1, title))
    var store = try open(schema(1, title))
    for column in ["_created", "_modified", "_owner"] {
      try store.tamper("ALTER TABLE Note DROP COLUMN \(column)")
    }
    try store.tamper("PRAGMA user_version = 2")
    try store.close()
    store = try open(schema(1, title))
    #expect(try note(store)?["title"] == "old")
    #expect(try store.count("PRAGMA user_version") == 4)
    #expect(try store.diagnose().findings == [])
  }

  @Test("An existing file opens with its own schema")
  func existing() throws {
    try seed(schema(7, title))
    let store = try LocalStore(existing: folder.database)
    #expect(store.schema == schema(7, title))
    #expect(try note(store)?["title"] == "old")
  }

  @Test("A type is renamed beside a type that isn't synced")
  func renameBesideLocal() throws {
    let own = TypeSchema("Draft", fields: [title], synced: false)
    var first = schema(1, title)
    first.types.append(own)
    try seed(first)
    var second = schema(2, title, type: "Memo")
    second.types.append(own)
    let store = try open(second, [Migration(to: 2, .renameType(from: "Note", to: "Memo"))])
    #expect(try note(store, "Memo")?["title"] == "old")
  }
}
