import BothyStore
import Testing

/// A type with two full-text fields.
struct Story: Entity, Equatable {
  struct Fields: Sendable {
    let id = Field<String>("id")
    let title = Field<String>("title")
    let body = Field<String?>("body")
    let pages = Field<Int>("pages")
  }
  static let fields = Fields()
  static let schema = TypeSchema(
    "Story",
    fields: [
      .field("title", String.self, fullText: true), .field("body", String?.self, fullText: true),
      .field("pages", Int.self, default: 0),
    ])

  var id: String
  var title: String
  var body: String?
  var pages = 0

  init(_ id: String, _ title: String, _ body: String? = nil, pages: Int = 0) {
    (self.id, self.title, self.body, self.pages) = (id, title, body, pages)
  }

  func encode(to fields: inout FieldEncoder) {
    title.encodeField(to: &fields)
    body.encodeField(to: &fields)
    pages.encodeField(to: &fields)
  }

  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    title = try String(fromField: &fields)
    body = try String?(fromField: &fields)
    pages = try Int(fromField: &fields)
  }
}

/// Searches of some fields, and of the starts of words.
@Suite("Searches of words", .timeLimit(.minutes(5))) struct SearchTests {
  static let stories = [
    Story("a", "Mountain huts", "A hut above the lake, with a stove."),
    Story("b", "The lake", "Mountains around it, and no hut."), Story("c", "Hut rules"),
    Story("d", "Stoves", "How a mountaineer lights one."),
  ]

  private func store() throws -> LocalStore {
    let store = try LocalStore(inMemory: StoreSchema(Story.self))
    try store.write { transaction in for story in Self.stories { try transaction.insert(story) } }
    return store
  }

  private func ids(_ query: RecordQuery<Story>, _ store: LocalStore) throws -> [String] {
    let found = try store.fetch(query).map(\.id)
    let records = Self.stories.map { AnyRecord($0) }
    #expect(try query.recordQuery.evaluate(over: records, schema: Story.schema).map(\.id) == found)
    return found
  }

  @Test("A search of a field leaves out what only others have")
  func fields() throws {
    let store = try store()
    #expect(try ids(Story.all.matching("lake"), store) == ["a", "b"])
    #expect(try ids(Story.all.matching("lake", in: \.title), store) == ["b"])
    #expect(try ids(Story.all.matching("lake", in: \.body), store) == ["a"])
    #expect(try ids(Story.all.matching("hut", in: \.title, \.body), store) == ["a", "b", "c"])
    #expect(try ids(Story.all.matching("mountain stove", in: \.body), store) == [])
    #expect(try ids(Story.all.matching("hut").matching("lake", in: \.title), store) == ["b"])
  }

  @Test("A word with a star after it is a prefix, as the last one is")
  func prefixes() throws {
    let store = try store()
    #expect(try ids(Story.all.matching("mountain lake"), store) == ["a"])
    #expect(try ids(Story.all.matching("mountain* lake"), store) == ["a", "b"])
    #expect(try ids(Story.all.matching("MOUNT* sto* l"), store) == ["a", "d"])
    #expect(try ids(Story.all.matching("hut * lake"), store) == ["a", "b"])
    #expect(try ids(Story.all.matching("huts* *lake"), store) == ["a"])
  }

  @Test("A field without full text can't be searched")
  func otherFields() throws {
    let store = try store()
    expect(.invalidQuery) { _ = try store.fetch(Story.all.matching("x", in: \.pages)) }
    expect(.unknownField) {
      _ = try store.fetch(AnyQuery("Story", where: ConditionTree.matches("x", in: ["name"])))
    }
  }
}
