import BothyStore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SchemaTests {
  @Test("A schema document reads back as it was written")
  func roundTrip() throws {
    let schema = StoreSchema(
      version: 3,
      types: [
        TypeSchema(
          "Trip",
          fields: [
            FieldSchema("name", .text, default: "new", indexed: true, unique: true, fullText: true),
            FieldSchema("stops", .references(to: "Place", onDelete: .deny), merge: .setUnion),
            FieldSchema("home", .reference(to: "Place", onDelete: .nullify), optional: true),
            FieldSchema("secret", .data, optional: true),
          ], remoteOnly: true, permissions: Permissions(read: .anyone)),
        TypeSchema("Place", fields: [FieldSchema("at", .coordinate)], synced: false),
      ])
    #expect(try StoreSchema(json: schema.json.canonicalText) == schema)
  }

  @Test(
    "An invalid schema is refused with the position of the mistake",
    arguments: [
      ([TypeSchema("A", fields: []), TypeSchema("a", fields: [])], "'a' is declared twice"),
      ([TypeSchema("A", fields: [FieldSchema("x", .int), FieldSchema("X", .int)])], "column 'X'"),
      ([TypeSchema("A", fields: [FieldSchema("p", .coordinate), FieldSchema("p_lat", .int)])], "'p_lat'"),
      ([TypeSchema("A", fields: [FieldSchema("id", .text)])], "A.id is reserved"),
      ([TypeSchema("bothy_meta", fields: [])], "'bothy_meta'"),
      ([TypeSchema("A", fields: [FieldSchema("x y", .int)])], "'x y'"),
      ([TypeSchema("A", fields: [FieldSchema("RowID", .int)])], "'RowID'"),
      ([TypeSchema("A", fields: [FieldSchema("true", .bool)])], "A.true can't be the name"),
      ([TypeSchema("A", fields: [FieldSchema("False", .bool)])], "A.False can't be the name"),
      (
        [TypeSchema("A", fields: [FieldSchema("r", .reference(to: "B", onDelete: .cascade))])],
        "the type 'B', which is not declared. Add the type to the schema."
      ),
      ([TypeSchema("A", fields: [FieldSchema("r", .reference(to: "A", onDelete: .nullify))])], "optional"),
      ([TypeSchema("A", fields: [FieldSchema("n", .int, fullText: true)])], "full-text"),
      ([TypeSchema("A", fields: [FieldSchema("n", .int, default: "x")])], "default of A.n"),
    ])
  func refused(types: [TypeSchema], phrase: String) {
    let error = #expect(throws: BothyError.self) { try StoreSchema(types: types).validate() }
    #expect(error?.code == .invalidSchema)
    #expect(error?.message.contains(phrase) == true, "\(error?.message ?? "")")
  }

  private static let unstorable: [([TypeSchema], String)] = [
    (
      [
        TypeSchema("user", fields: [FieldSchema("group_name", .text, indexed: true)]),
        TypeSchema("User_group", fields: [FieldSchema("name", .text, indexed: true)]),
      ], "'user' and 'User_group'"
    ),
    (
      [
        TypeSchema("Note", fields: [FieldSchema("text", .text, fullText: true)]),
        TypeSchema("Note_data", fields: [FieldSchema("text", .text, fullText: true)]),
      ], "'bothy_fts_Note_data'"
    ),
    (
      [
        TypeSchema("A", fields: []),
        TypeSchema("A_", fields: [FieldSchema("container", .text, indexed: true)]),
      ], "'bothy_index_A__container'"
    ),
    ([TypeSchema("A", fields: [FieldSchema("Rank", .text, fullText: true)])], "A.Rank"),
    ([TypeSchema("SQLite_x", fields: [])], "'SQLite_x'"),
  ]

  @Test("Names that SQLite refuses are found before a file is opened", arguments: unstorable)
  func names(types: [TypeSchema], phrase: String) { refused(types: types, phrase: phrase) }

  @Test("Names that differ only by their kind of object are valid")
  func similarNames() throws {
    let fields = [FieldSchema("text", .text, fullText: true), FieldSchema("rank", .int, indexed: true)]
    let names = ["Note", "Note_insert", "sqlite"]
    let schema = StoreSchema(types: names.map { TypeSchema($0, fields: fields) })
    let store = try LocalStore(inMemory: schema)
    for name in names { try store.write { try $0.insert(AnyRecord(name, ["text": "word", "rank": 1])) } }
    #expect(try store.diagnose().isHealthy)
  }

  @Test("A document may begin with a byte order mark") func byteOrderMark() throws {
    let document = #"{"types": [{"name": "A", "fields": [{"name": "x", "type": "int"}]}]}"#
    let marked: [UInt8] = [0xEF, 0xBB, 0xBF] + Array(document.utf8)
    #expect(try StoreSchema(json: marked) == StoreSchema(json: document))
  }

  @Test(
    "A misspelt document is refused",
    arguments: [
      "[]", "{", #"{"types": 1}"#, #"{"types": [], "version": 0}"#, #"{"types": [{"fields": []}]}"#,
      #"{"types": [{"name": "A", "feilds": []}]}"#,
      #"{"types": [{"name": "A", "fields": [{"name": "x", "type": "number"}]}]}"#,
      #"{"types": [{"name": "A", "fields": [{"name": "x", "type": "int", "default": "one"}]}]}"#,
      #"{"types": [{"name": "A", "fields": [{"name": "x", "type": "reference"}]}]}"#,
    ])
  func misspelt(document: String) {
    expect(.invalidSchema) { _ = try StoreSchema(json: document) }
  }
}
