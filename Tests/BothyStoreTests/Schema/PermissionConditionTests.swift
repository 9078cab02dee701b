import BothyStore
import Testing

@Suite("Conditions of permissions", .timeLimit(.minutes(5)))
struct PermissionConditionTests {
  private static let schema = StoreSchema(types: [
    TypeSchema(
      "Task",
      fields: [
        FieldSchema("title", .text, fullText: true), FieldSchema("level", .int, optional: true),
        FieldSchema("team", .text, optional: true), FieldSchema("readers", .json, optional: true),
        FieldSchema("project", .reference(to: "Project", onDelete: .deny)),
        FieldSchema("pin", .text, optional: true, sensitive: true),
      ]),
    TypeSchema("Project", fields: [FieldSchema("lead", .text, indexed: true)]),
    TypeSchema(
      "Membership",
      fields: [
        FieldSchema("user", .text, indexed: true), FieldSchema("project", .text),
        FieldSchema("role", .text, optional: true), FieldSchema("level", .int, optional: true),
      ]),
    TypeSchema("Local", fields: [FieldSchema("user", .text, indexed: true)], synced: false),
  ])

  private static func schema(_ change: (inout TypeSchema) -> Void) -> StoreSchema {
    var schema = schema
    change(&schema.types[0])
    return schema
  }

  @Test("A condition reads back as it was written")
  func text() throws {
    for text in [
      "_owner = principal.name", "team IN principal.groups", "NOT readers INCLUDES principal.name",
      "principal.name IS NOT NULL AND (principal.groups INCLUDES 'a' OR level > 3)",
      "audience INCLUDES principal.name", "owner = team AND NOT created < modified",
      "EXISTS(Membership WHERE user = principal.name AND role = project)",
      "EXISTS(Membership WHERE project = record.project AND user = principal.name AND role != 'reader')",
      "NOT EXISTS(Membership WHERE user IN principal.groups)",
    ] {
      let tree = try WhereParser.parse(text)
      #expect(tree.description == text)
      #expect(try WhereParser.parse(tree.description) == tree)
      let condition = try PermissionCondition(text, of: Self.schema.types[0], in: Self.schema)
      #expect(condition.description == text)
    }
    #expect(
      try WhereParser.parse("exists(Membership where user == principal.name)")
        == .exists(
          type: "Membership",
          .relates(field: "user", .compares(.equal), to: "principal.name")))
  }

  @Test(
    "An error points at the column",
    arguments: [
      ("owner = principal", 9), ("owner = principal.age", 9), ("a IN record", 6), ("EXISTS(3)", 8),
      ("EXISTS(M)", 9), ("EXISTS(M WHERE )", 16), ("EXISTS(M WHERE a = 1", 21), ("a INCLUDES user.name", 12),
    ])
  func syntax(text: String, column: Int) throws {
    let error = try #require(throws: WhereSyntaxError.self) { try WhereParser.parse(text) }
    #expect(error.column == column, "\(error)")
  }

  @Test(
    "A condition that doesn't fit the schema is refused with a remedy",
    arguments: [
      ("colour = 'red'", "no field 'colour'"), ("level = 'x'", "takes a whole number"),
      ("level CONTAINS 'x'", "Possible:"), ("pin = 'x'", "sensitive"), ("version = '1'", "version"),
      ("level = principal.name", "Possible: TEXT"), ("team IN principal.name", "Possible: TEXT"),
      ("team < principal.name", "Possible: TEXT"), ("team = record.title", "EXISTS only"),
      ("principal.name = principal.name", "comes first"), ("principal.name = team", "comes first"),
      ("team = pin", "sensitive"), ("team = red", "Text needs quotes"),
      ("team NATURAL = 'red'", "in queries only"),
      ("team = audience", "no field 'audience'"),
      ("EXISTS(Nothing WHERE user = principal.name)", "Known: Membership, Project, Task"),
      ("EXISTS(Local WHERE user = principal.name)", "no synced type"),
      ("EXISTS(Membership WHERE project = record.project)", "doesn't name the caller"),
      ("EXISTS(Membership WHERE role = principal.name)", "\"indexed\": true"),
      ("EXISTS(Membership WHERE level = principal.name)", "string field"),
      ("EXISTS(Membership WHERE users = principal.name)", "no field 'users'"),
      ("EXISTS(Membership WHERE user = principal.name AND level = record.title)", "Link fields of one kind"),
      ("EXISTS(Membership WHERE user = principal.name AND role = record.none)", "no field 'none'"),
      ("EXISTS(Membership WHERE user = principal.name OR role = 'a')", "joined by AND"),
      (
        "EXISTS(Membership WHERE user = principal.name AND (role = 'a' OR project = record.project))",
        "joined by AND"
      ),
      ("EXISTS(Membership WHERE user != principal.name)", "joined by AND"),
      (
        "EXISTS(Membership WHERE user = principal.name AND EXISTS(Project WHERE lead = principal.name))",
        "joined by AND"
      ), ("title = ", "A value is missing"),
    ])
  func refused(text: String, phrase: String) {
    let schema = Self.schema { $0.permissions = Permissions().where(update: text) }
    let error = #expect(throws: BothyError.self) { try schema.validate() }
    #expect(error?.code == .invalidSchema)
    #expect(error?.message.contains(phrase) == true, "\(error?.message ?? "")")
    #expect(error?.message.contains("'update' in the permissions of Task") == true)
  }

  @Test("Long conditions and many memberships are refused")
  func limits() throws {
    let task = Self.schema.types[0]
    let long = "title = '" + String(repeating: "x", count: 4000) + "'"
    #expect(throws: BothyError.self) { try PermissionCondition(long, of: task, in: Self.schema) }
    func searches(_ count: Int) -> String {
      (0..<count).map { "EXISTS(Membership WHERE user = principal.name AND role = 'r\($0)')" }
        .joined(separator: " OR ")
    }
    #expect(try PermissionCondition(searches(8), of: task, in: Self.schema).memberships.count == 8)
    #expect(throws: BothyError.self) { try PermissionCondition(searches(9), of: task, in: Self.schema) }
    // Equal searches are one.
    let equal = Array(repeating: searches(1), count: 20).joined(separator: " OR ")
    #expect(try PermissionCondition(equal, of: task, in: Self.schema).memberships.count == 1)
  }

  @Test("A document names the line of a wrong condition")
  func lines() throws {
    let document = """
      {"types": [
        {"name": "A", "fields": []},
        {"name": "B", "fields": [],
         "permissions": {
           "read": "authenticated",
           "delete": "colour = 'red'"}}]}
      """
    let error = #expect(throws: BothyError.self) { try StoreSchema(json: document) }
    #expect(error?.message.contains("'delete' in the permissions of B (line 6)") == true)
    let result = document.replacing(
      #""delete": "colour = 'red'""#, with: #""update": {"was": "owner", "becomes": "colour = 'red'"}"#)
    #expect(
      #expect(throws: BothyError.self) { try StoreSchema(json: result) }?.message.contains("(line 6)") == true
    )
  }

  @Test("Permissions with conditions read back from their document")
  func document() throws {
    let permissions = Permissions(create: .authenticated, share: .owner).where(
      read: "audience INCLUDES principal.name", update: "_owner = principal.name", become: "level < 3",
      delete: "FALSE ")
    #expect(permissions.read == .nobody && permissions.create == .authenticated)
    let schema = Self.schema { $0.permissions = permissions }
    #expect(try StoreSchema(json: schema.json.canonicalText) == schema)
    for text in [
      #"{"read": "onwer"}"#, #"{"read": ""}"#, #"{"read": 3}"#, #"{"become": "owner"}"#,
      #"{"update": {"was": "owner"}}"#, #"{"update": {"was": "owner", "becomes": "x = 1", "or": 1}}"#,
    ] {
      expect(.invalidSchema) {
        _ = try StoreSchema(json: #"{"types": [{"name": "A", "permissions": \#(text)}]}"#)
      }
    }
  }

  @Test("On the wire a condition has the wire names, and marked names of metadata")
  func wireNames() throws {
    var schema = Self.schema {
      $0.wire = "Todo"
      $0.fields[2].wire = "owner"
      $0.permissions = Permissions().where(
        read: "owner = principal.name OR team = 'a' OR EXISTS(Membership WHERE user = principal.name "
          + "AND project = record.team)")
    }
    schema.types[2].wire = "Member"
    schema.types[2].fields[1].wire = "group"
    try schema.validate()
    let wire = schema.asOnTheWire
    try wire.validate()
    #expect(
      wire["Todo"]?.permissions?[.read]
        == "_owner = principal.name OR owner = 'a' OR EXISTS(Member WHERE user = principal.name "
        + "AND group = record.owner)")
    #expect(wire.asOnTheWire == wire)
  }

  @Test("A missing value equals nothing, and has no order")
  func missing() throws {
    let type = Self.schema.types[0]
    let values: [String: FieldValue] = [
      "team": .null, "title": "ann", "principal.name": "ann", "record.x": .null,
      "readers": .json("[\"ann\"]"),
      "principal.groups": .list(["red", "ann"]),
    ]
    for (text, expected) in [
      ("title = principal.name", true), ("title != principal.name", false), ("team = principal.name", false),
      ("team != principal.name", true), ("team = record.x", false), ("team < record.x", false),
      ("team >= record.x", false), ("title >= principal.name", true), ("title > principal.name", false),
      ("title IN principal.groups", true), ("team IN principal.groups", false),
      ("readers INCLUDES principal.name", true), ("readers INCLUDES record.x", false),
      ("principal.groups INCLUDES 'red'", true), ("principal.groups INCLUDES 'RED'", false),
      ("EXISTS(Membership WHERE user = principal.name)", false),
    ] {
      let tree = try WhereParser.parse(text)
      #expect(tree.evaluate(type, { values[$0] ?? .null }) == expected, "\(text)")
      #expect((!tree).evaluate(type, { values[$0] ?? .null }) != expected, "NOT \(text)")
    }
  }

  @Test("Texts of the caller are compared by their bytes")
  func bytes() throws {
    let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
    let tree = try WhereParser.parse("title = principal.name")
    let values: [String: FieldValue] = ["title": .text(composed), "principal.name": .text(decomposed)]
    #expect(!tree.evaluate(Self.schema.types[0]) { values[$0] ?? .null })
  }

  @Test("A query can't have the conditions of permissions")
  func queries() throws {
    for text in [
      "title = principal.name", "principal.name = 'ann'", "EXISTS(Membership WHERE user = principal.name)",
    ] {
      let tree = try WhereParser.parse(text)
      #expect(throws: BothyError.self) { try tree.checked(for: Self.schema.types[0]) }
      #expect(throws: BothyError.self) {
        try ConditionTree(json: tree.json).checked(for: Self.schema.types[0])
      }
    }
  }

  @Test("A change by owners alone is known to be one")
  func owners() {
    #expect(Permissions().where(update: "_owner = principal.name").knowsOwners)
    #expect(!Permissions().where(update: "team IN principal.groups").knowsOwners)
  }
}
