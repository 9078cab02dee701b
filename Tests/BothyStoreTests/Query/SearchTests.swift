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

  @Test("A word with a star after it is a prefix, like the last one")
  func prefixes() throws {
    let store = try store()
    #expect(try ids(Story.all.matching("mountain lake"), store) == ["a"])
    #expect(try ids(Story.all.matching("mountain* lake"), store) == ["a", "b"])
    #expect(try ids(Story.all.matching("MOUNT* sto* l"), store) == ["a", "d"])
    #expect(try ids(Story.all.matching("hut * lake"), store) == ["a", "b"])
    #expect(try ids(Story.all.matching("huts* *lake"), store) == ["a"])
  }

  @Test("A word counts once, however often a search has it")
  func repeated() {
    let search = TextSearch(String(repeating: "hut lake ", count: 5000) + "hut")
    #expect(search.terms.map(\.word) == ["hut", "lake", "hut"])
    #expect(search.terms.map(\.isPrefix) == [false, false, true])
    // Written as text, the search ends with the prefix, as it did.
    let last = TextSearch("hut* lake tent hut")
    #expect(last.terms.map(\.word) == ["lake", "tent", "hut"])
    #expect(last.terms.map(\.isPrefix) == [false, false, true])
  }

  @Test("A field without full text can't be searched")
  func otherFields() throws {
    let store = try store()
    expect(.invalidQuery) { _ = try store.fetch(Story.all.matching("x", in: \.pages)) }
    expect(.unknownField) {
      _ = try store.fetch(AnyQuery("Story", where: ConditionTree.matches("x", in: ["name"])))
    }
  }

  @Test("The most relevant records come first: whole words, more of them, shorter texts")
  func relevance() throws {
    let store = try store()
    #expect(try ids(Story.all.matching("hut", bestFirst: true), store) == ["a", "b", "c"])
    #expect(try ids(Story.all.matching("hut", in: \.title, bestFirst: true), store) == ["c", "a"])
    let byPages = Story.all.order(by: \.pages).matching("mountain", bestFirst: true)
    #expect(try ids(byPages, store) == ["a", "b", "d"])
    let long = String(repeating: "A day at the lake. ", count: 2) + String(repeating: "and so on ", count: 60)
    try store.write { transaction in
      try transaction.insert(Story("0", "Days", long))
      try transaction.insert(Story("1", "Lake", "The lake, and the lake again."))
    }
    #expect(try store.fetch(Story.all.matching("lake", bestFirst: true)).map(\.id) == ["1", "a", "b", "0"])
    let ranked = Story.all.matching("lake", bestFirst: true).matching("hut", bestFirst: true)
    #expect(try store.fetch(ranked).map(\.id) == ["a", "b"])
  }

  @Test("Pages by relevance are the whole result, with equal relevance too")
  func pages() async throws {
    let store = try store()
    for words in ["hut", "mountain* l", "s", ""] {
      let query = Story.all.matching(words, bestFirst: true).order(by: \.pages)
      let whole = try ids(query, store)
      var found: [String] = []
      var page = try await store.fetch(query.limit(1))
      while let last = page.last, found.count < 9 {
        found.append(last.id)
        page = try await store.fetch(query.limit(1).after(last))
      }
      #expect(found == whole, "\(words)")
      var read: [String] = []
      for try await story in store.records(query, pageSize: 1) { read.append(story.id) }
      #expect(read == whole, "\(words)")
    }
  }

  @Test("The relevance in a forged cursor is bounded", arguments: [true, false])
  func forged(ascending: Bool) throws {
    let store = try store()
    var query = Story.all.matching("hut").recordQuery
    query.order = [SortKey(SortKey.rank, ascending: ascending)]
    var record = AnyRecord(Self.stories[0])
    record[SortKey.rank] = .int(.max)
    query.filter = query.filter && query.condition(after: record, Story.schema)
    #expect(try store.fetch(query).count == (ascending ? 0 : 3))
  }

  @Test("An order by relevance needs a search")
  func withoutSearch() throws {
    let store = try store()
    expect(.invalidQuery) {
      _ = try store.fetch(AnyQuery("Story", order: [SortKey(SortKey.rank)]))
    }
    let either = ConditionTree.or([.matches("hut"), .compare(field: "pages", .equal, 0)])
    expect(.invalidQuery) {
      _ = try store.fetch(AnyQuery("Story", where: either, order: [SortKey(SortKey.rank)]))
    }
  }

  @Test("A snippet has the found words in bold, and is empty without a text")
  func snippets() throws {
    let store = try store()
    let both = Story.all.matching("mountain* hut")
    let bodies = try store.read { try $0.fetch(both.withSnippet(of: \.body)) }
    #expect(
      bodies.map(\.related) == [
        "A **hut** above the lake, with a stove.", "**Mountains** around it, and no **hut**.",
      ])
    let rules = try store.read { try $0.fetch(Story.all.matching("rules").withSnippet(of: \.body)) }
    #expect(rules.map(\.related) == [""] && rules.map(\.title) == ["Hut rules"])
    let titles = try store.read { try $0.fetch(Story.all.withSnippet(of: \.title)) }
    #expect(titles.map(\.related) == Self.stories.map(\.title))
    let cut = both.withSnippet(of: \.body, words: 3).plan.identity
    #expect(both.withSnippet(of: \.body).plan.identity != cut)
    #expect(both.withSnippet(of: \.title, words: 3).plan.identity != cut)
  }

  @Test(
    "A snippet shows the words among which most of the search are",
    arguments: [
      ("lake stove", 3, "\u{2026}the <lake>, with\u{2026}"),
      ("lake stove", 4, "\u{2026}<lake>, with a <stove>."), ("hut", 3, "A <hut> above\u{2026}"),
      ("hut", 2, "\u{2026}<hut> above\u{2026}"), ("hut stove", 99, "A <hut> above the lake, with a <stove>."),
      ("tent", 2, "A hut\u{2026}"), ("", 1, "A\u{2026}"), ("a", 0, "<A>\u{2026}"),
    ])
  func window(words: String, count: Int, expected: String) {
    let marks = TextSearch.SnippetMarks(before: "<", after: ">")
    let text = "A hut above the lake, with a stove."
    #expect(TextSearch(words).snippet(of: text, words: count, marks: marks) == expected)
  }

  @Test("A snippet has a word as the text writes it")
  func spelling() {
    let marks = TextSearch.SnippetMarks(before: "[", after: "]")
    let road = "Die lange Stra\u{DF}e am Flu\u{DF}"
    let snippet = TextSearch("STRASSE").snippet(of: road, words: 2, marks: marks)
    #expect(snippet == "\u{2026}[Stra\u{DF}e] am\u{2026}")
    let tower = TextSearch("京タ").snippet(of: "高い東京タワーを見る", words: 4, marks: marks)
    #expect(tower == "\u{2026}東[京タ]ワ\u{2026}")
    #expect(TextSearch("店 東").snippet(of: "iPhone東京店", words: 9, marks: marks) == "iPhone[東]京[店]")
    #expect(TextSearch("x").snippet(of: "", words: 2, marks: marks) == "")
    #expect(TextSearch("x").snippet(of: " \u{2014} ", words: 2, marks: marks) == " \u{2014} ")
  }
}
