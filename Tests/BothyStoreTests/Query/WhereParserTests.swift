import BothyStore
import Testing

@Suite(.timeLimit(.minutes(5))) struct WhereParserTests {
  @Test("Every form is read, keywords in any case")
  func forms() throws {
    let due = Timestamp(rfc3339: "2026-12-01")?.milliseconds ?? 0
    let table: [(String, ConditionTree)] = [
      ("", .all),
      ("done = false", .compare(field: "done", .equal, false)),
      ("done == false", .compare(field: "done", .equal, false)),
      ("n <> -1.5", .compare(field: "n", .notEqual, -1.5)),
      ("n > 1.5e-100", .compare(field: "n", .greater, 1.5e-100)),
      ("due<2026-12-01", .compare(field: "due", .less, .date(due))),
      ("due >= 2026-12-01T00:00:01Z", .compare(field: "due", .greaterOrEqual, .date(due + 1000))),
      ("title contains 'mi''lk'", .contains(field: "title", "mi'lk", ignoringCase: false)),
      ("title CONTAINS[c] \"a\"\"b\"", .contains(field: "title", "a\"b", ignoringCase: true)),
      ("title BeginsWith 'x'", .beginsWith(field: "title", "x", ignoringCase: false)),
      ("spent > budget", .compareFields("spent", .greater, "budget")),
      ("a = b AND c = null", .and([.compareFields("a", .equal, "b"), .compare(field: "c", .equal, .null)])),
      ("note IS NULL", .compare(field: "note", .equal, .null)),
      ("note is not null", .compare(field: "note", .notEqual, .null)),
      ("tag IN ('a', 'b')", .oneOf(field: "tag", ["a", "b"])),
      ("tag IN ()", .oneOf(field: "tag", [])),
      ("tag = '\u{301}a'", .compare(field: "tag", .equal, "\u{301}a")),
      ("tag IN ('a''\u{301}', 'b')", .oneOf(field: "tag", ["a'\u{301}", "b"])),
      ("tag = '\u{600}'", .compare(field: "tag", .equal, "\u{600}")),
      ("tag NOT IN (1)", .not(.oneOf(field: "tag", [1]))),
      ("friends INCLUDES 'x'", .includes(field: "friends", "x")),
      ("n includes -1.5", .includes(field: "n", -1.5)), ("n INCLUDES null", .includes(field: "n", .null)),
      ("MATCHES 'oslo fj'", .matches("oslo fj")),
      ("matches 'fj* oslo' in (title, notes)", .matches("fj* oslo", in: ["title", "notes"])),
      ("MATCHES 'oslo' RANK 300", .matches("oslo", atLeast: 300)),
      ("NOT MATCHES 'oslo' IN (title) rank 1", .not(.matches("oslo", in: ["title"], atLeast: 1))),
      ("matches = 'x'", .compare(field: "matches", .equal, "x")),
      ("not = 'x'", .compare(field: "not", .equal, "x")),
    ]
    try check(table)
  }

  @Test("Places, and conditions within conditions, are read")
  func nested() throws {
    try check([
      (
        "at WITHIN 500 OF 59.91,-10.75",
        .near(field: "at", centre: Coordinate(latitude: 59.91, longitude: -10.75), metres: 500)
      ),
      (
        "at within 500 m of 51.5,-0.1",
        .near(field: "at", centre: Coordinate(latitude: 51.5, longitude: -0.1), metres: 500)
      ),
      (
        "at WITHIN 1.5km OF 51.5,-0.1",
        .near(field: "at", centre: Coordinate(latitude: 51.5, longitude: -0.1), metres: 1500)
      ),
      ("at INSIDE 170,-1,-170,1", .inside(field: "at", GeoBox(west: 170, south: -1, east: -170, north: 1))),
      (
        "a = 1 AND b = 2 OR NOT c = 3",
        .or([
          .and([.compare(field: "a", .equal, 1), .compare(field: "b", .equal, 2)]),
          .not(.compare(field: "c", .equal, 3)),
        ])
      ),
      (
        "a = 1 AND (b = 2 OR c = 3)",
        .and([
          .compare(field: "a", .equal, 1),
          .or([.compare(field: "b", .equal, 2), .compare(field: "c", .equal, 3)]),
        ])
      ),
    ])
  }

  /// Parses each text and its condition's own text.
  private func check(_ table: [(String, ConditionTree)]) throws {
    for (text, expected) in table {
      #expect(try WhereParser.parse(text) == expected, "\(text)")
      #expect(try WhereParser.parse(expected.description) == expected, "\(expected)")
    }
  }

  @Test(
    "An error points at the column",
    arguments: [
      ("done", 5), ("done =", 7), ("done = 1 maybe", 10), ("title = 'x", 9), ("a = 1 b = 2", 7),
      ("(a = 1", 7),
      ("a = 1 AND", 10), ("a ! 1", 3), ("due < 2026-13-01", 7), ("due < 2026-02-30T10:00:00Z", 7),
      ("n = 1x", 5),
      ("n = 1.", 5), ("tag IN 'a'", 8), ("tag IN ('a' 'b')", 13), ("note IS 3", 9), ("= 1", 1),
      ("a = 1; DROP", 6),
      ("at WITHIN x OF 1,2", 11), ("at WITHIN 5 1,2", 13), ("at WITHIN 5 miles OF 1,2", 13), ("n = 5m", 6),
      ("at WITHIN 5 OF 1 2", 18),
      ("title CONTAINS 3", 16),
      ("title CONTAINS[d] 'x'", 16), ("a = 1)", 6), ("été = ☃", 7), ("tag IN (a)", 9),
      ("at INSIDE 1,2,3", 16),
      ("a BETWEEN 1", 3),
    ])
  func errors(text: String, column: Int) throws {
    let error = try #require(throws: WhereSyntaxError.self) { try WhereParser.parse(text) }
    #expect(error.column == column, "\(error)")
    #expect(error.description.hasSuffix("\n  \(text)\n  \(String(repeating: " ", count: column - 1))^"))
  }

  @Test("Nesting is limited")
  func depth() throws {
    let deep = String(repeating: "(", count: 10_000) + "a = 1" + String(repeating: ")", count: 10_000)
    #expect(throws: WhereSyntaxError.self) { try WhereParser.parse(deep) }
    #expect(throws: WhereSyntaxError.self) {
      try WhereParser.parse(String(repeating: "NOT ", count: 10_000) + "a = 1")
    }
    let limit = String(repeating: "(", count: 20) + "a = 1" + String(repeating: ")", count: 20)
    #expect(try WhereParser.parse(limit) == .compare(field: "a", .equal, 1))
  }

  @Test("Sort keys are read, and errors point at the key")
  func order() throws {
    #expect(try SortKey.parse("-due, title") == [SortKey("due", ascending: false), SortKey("title")])
    #expect(try SortKey.parse(" ") == [])
    let here = Coordinate(latitude: 51.5, longitude: -0.1)
    let keys = [
      SortKey("start", distanceFrom: here), SortKey("due"),
      SortKey("end", distanceFrom: here, ascending: false),
    ]
    #expect(try SortKey.parse("start nearest 51.5,-0.1, due, end FARTHEST 51.5, -0.1 ") == keys)
    #expect(try SortKey.parse(keys.map(\.description).joined(separator: ",")) == keys)
    for (text, column) in [
      ("a,,b", 3), ("a, -", 4), ("a;b", 1), ("due desc", 1), ("a,at NEAREST 1", 3),
      ("at NEAREST 1,x", 1), ("at NEAR 1,2", 1), ("at NEAREST 1 2,3", 1),
    ] {
      let error = try #require(throws: WhereSyntaxError.self) { try SortKey.parse(text) }
      #expect(error.column == column, "\(text)")
    }
  }
}
