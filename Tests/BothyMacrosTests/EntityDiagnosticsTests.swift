import SwiftSyntaxMacrosGenericTestSupport
import Testing

@Suite("What @Entity reports when a struct can't be an entity", .timeLimit(.minutes(5)))
struct EntityDiagnosticsTests {
  /// A mistake, its message with the position, and the corrections offered with their results.
  struct Mistake: CustomTestStringConvertible, Sendable {
    let source: String
    let message: String
    let line: Int
    let column: Int
    var corrections: [(name: String, result: String)] = []

    var testDescription: String { source }

    init(_ source: String, _ message: String, at line: Int = 1, _ column: Int, fix: (String, String)...) {
      self.source = source
      self.message = message
      self.line = line
      self.column = column
      corrections = fix.map { (name: $0.0, result: $0.1) }
    }

    /// A mistake in the one property of a struct.
    static func property(
      _ property: String, _ message: String, _ column: Int, fix: (String, String)...
    ) -> Mistake {
      var mistake = Mistake("@Entity struct T {\n  \(property)\n}", message, at: 2, column)
      mistake.corrections = fix.map { (name: $0.0, result: "@Entity struct T {\n  \($0.1)\n}") }
      return mistake
    }
  }

  @Test("Each mistake has its message at its position", arguments: shapes + properties + types + options)
  func mistakes(_ mistake: Mistake) {
    let diagnostic = DiagnosticSpec(
      message: mistake.message, line: mistake.line, column: mistake.column,
      fixIts: mistake.corrections.map { FixItSpec(message: $0.name) })
    let expanded = mistake.source.replacing(#/@Entity(\([^)]*\))? /#, with: "")
    expectExpansion(mistake.source, expanded, diagnostics: [diagnostic])
    for correction in mistake.corrections {
      expectExpansion(
        mistake.source, expanded, diagnostics: [diagnostic], fixIts: [correction.name],
        fixed: correction.result)
    }
  }

  static let shapes = [
    Mistake("@Entity class T {}", "Only a struct can be an entity, not a class.", 1),
    Mistake("@Entity enum T {}", "Only a struct can be an entity, not an enum.", 1),
    Mistake("@Entity actor T {}", "Only a struct can be an entity, not an actor.", 1),
    Mistake(
      "@Entity struct T<V> {\n  var v: V\n}",
      "An entity can't be generic: its type in the schema has one name and one set of fields.", 17),
    Mistake(
      "struct Outer<V> {\n  @Entity struct T {}\n}",
      "An entity can't be generic: its type in the schema has one name and one set of fields.", at: 2, 18),
    Mistake(
      "struct Outer {\n  @Entity private struct T {}\n}",
      "A private struct inside another type can't conform to Entity in an extension. Make it fileprivate.",
      at: 2, 11,
      fix: ("Replace 'private' with 'fileprivate'", "struct Outer {\n  @Entity fileprivate struct T {}\n}")),
    Mistake(
      "@Entity(name) struct T {}",
      "The name must be a string literal, because it is part of the stored schema.", 9),
    Mistake(
      "@Entity(\"to-do\") struct T {}",
      "'to-do' can't be a name in the schema: use a letter, then letters, digits or '_', at most 64, "
        + "not starting with 'bothy'. The names 'id' and 'rowid' are taken.", 9),
    Mistake(
      "@Entity struct BothyThing {}",
      "'BothyThing' can't be the name of a type in the schema. Name it with @Entity(\"…\").", 16),
    Mistake(
      "@Entity struct T {\n  #if DEBUG\n  var a: Int\n  #endif\n}",
      "A field can't depend on '#if': the schema must be the same in every build.", at: 2, 3),
    Mistake(
      "@Entity struct T {\n  var a: Int\n  @Named(\"A\") var b: Int\n}",
      "Two fields are called 'A'. Names of fields differ by more than case.", at: 3, 19),
  ]

  static let properties: [Mistake] = [
    .property("var (a, b) = (1, 2)", "Declare each field by itself, with its name and type.", 7),
    .property(
      "var place = Coordinate(latitude: 1, longitude: 2)",
      "Write the type of 'place': a macro sees only the text of its value.", 7,
      fix: ("Add ': Coordinate'", "var place: Coordinate = Coordinate(latitude: 1, longitude: 2)")),
    .property(
      "var level = Level.low", "Write the type of 'level': a macro sees only the text of its value.", 7,
      fix: ("Add ': Level'", "var level: Level = Level.low")),
    .property("var n = make()", "Write the type of 'n': a macro sees only the text of its value.", 7),
    .property(
      "let n = 1",
      "'n' could never be read back: a 'let' keeps its initial value. Make it a 'var', remove the value, "
        + "or mark it @NotStored.", 3, fix: ("Replace 'let' with 'var'", "var n = 1")),
    .property(
      "lazy var n = 1",
      "'n' is lazy and can't be a field. Mark it @NotStored to keep it out of the record.", 3,
      fix: ("Add '@NotStored'", "@NotStored lazy var n = 1")),
    .property(
      "var größe: Int", "'größe' can't be the name of a field in the schema. Name it with @Named(\"…\").", 7,
      fix: ("Add '@Named(\"<#name#>\")'", "@Named(\"<#name#>\") var größe: Int")),
    .property(
      "@NotStored var n: Int",
      "'n' needs an initial value, because no record holds one for a @NotStored property.", 18),
    .property(
      "let id: UUID", "The id of an entity is a String, not UUID.", 11,
      fix: ("Replace 'UUID' with 'String'", "let id: String")),
    .property("var id = 7", "The id of an entity is a String, not Int.", 7),
    .property(
      "var id: String { slug }", "The id must be stored: a record keeps it when its fields change.", 3),
    .property(
      "let id = UUIDv7.make()",
      "'id' could never be read back: a 'let' keeps its initial value. Make it a 'var', remove the value, "
        + "or mark it @NotStored.", 3, fix: ("Replace 'let' with 'var'", "var id = UUIDv7.make()")),
  ]

  static let types: [Mistake] = [
    .property(
      "var a: Int!", "Declare it optional: 'Int?'.", 10,
      fix: ("Replace 'Int!' with 'Int?'", "var a: Int?")),
    .property(
      "var a: (Int, Int)",
      "'(Int, Int)' can't be a field. Put the value in a struct that is 'Codable, JSONField'.", 10),
    .property(
      "var a: any Error",
      "'any Error' can't be a field. Put the value in a struct that is 'Codable, JSONField'.", 10),
    .property(
      "var a: [Todo]",
      "'[Todo]' can't be a field: only references and plain values form lists. Give Todo a reference to this type, and "
        + "fetch both with '.with(_:by:)'. Or declare a '[Reference<Todo>]'. If Todo isn't an entity, put the array in a struct that is "
        + "'Codable, JSONField'.", 10),
    .property(
      "var a: [App.Todo?]?",
      "'[App.Todo?]?' can't be a field: only references and plain values form lists. Give App.Todo a reference to this "
        + "type, and fetch both with '.with(_:by:)'. Or declare a '[Reference<App.Todo>]'. If App.Todo isn't an entity, put the array in "
        + "a struct that is 'Codable, JSONField'.", 10),
    .property(
      "var a: T?",
      "'T?' can't be a field: a record isn't stored in another. Declare a 'Reference<T>?', and fetch both with "
        + "'.with(_:)'.", 10, fix: ("Replace 'T?' with 'Reference<T>?'", "var a: Reference<T>?")),
    .property(
      "var list: Reference<List>",
      "'list' must be optional, because it becomes nil when the record it refers to is deleted. "
        + "Or add @OnDelete(.cascade) or @OnDelete(.deny).", 13,
      fix: ("Replace 'Reference<List>' with 'Reference<List>?'", "var list: Reference<List>?"),
      ("Add '@OnDelete(.cascade)'", "@OnDelete(.cascade) var list: Reference<List>")),
  ]

  static let options: [Mistake] = [
    .property("@FullText var n: Int", "@FullText needs a field of type String.", 3),
    .property("@OnDelete(.deny) var n: Int?", "@OnDelete needs a field of type Reference.", 3),
    .property("@Transient var n = 1", "@Transient is another library's. Here it is @NotStored.", 3),
    .property("@Unique var code: String", "@Unique is another library's. Here it is @UniqueValue.", 3),
    .property(
      "@Relationship(deleteRule: .cascade) var list: Reference<List>?",
      "@Relationship is another library's. Here it is a Reference with @OnDelete.", 3),
    .property(
      "@Named(\"id\") var key: Int",
      "'id' can't be a name in the schema: use a letter, then letters, digits or '_', at most 64, "
        + "not starting with 'bothy'. The names 'id' and 'rowid' are taken.", 3),
    .property(
      "var rowID: Int", "'rowID' can't be the name of a field in the schema. Name it with @Named(\"…\").", 7,
      fix: ("Add '@Named(\"<#name#>\")'", "@Named(\"<#name#>\") var rowID: Int")),
    .property(
      "@Named(text) var key: Int",
      "The name must be a string literal, because it is part of the stored schema.", 3),
    .property(
      "@Indexed(with: \"due\") var n: Int",
      "'due' isn't another field of this struct. Write the field's name in the schema.", 18),
    .property(
      "@UniqueValue(with: \"n\") var n: Int",
      "'n' isn't another field of this struct. Write the field's name in the schema.", 22),
    .property(
      "@Indexed(where: condition) var n: Int",
      "The name must be a string literal, because it is part of the stored schema.", 19),
    .property(
      "@Indexed(natural: flag) var n: String",
      "Write true or false, because it is part of the stored schema.", 21),
    .property(
      "@Indexed(natural: true) var n: Int", "@Indexed(natural: true) needs a field of type String.", 3),
    .property(
      "@Indexed @NotStored var n = 1", "@Indexed has no effect on a @NotStored property.", 3),
    .property(
      "@Indexed var n: Int { 1 }", "@Indexed belongs on a stored property; this one holds no value.", 3),
    .property(
      "@UniqueValue static let n = 1", "@UniqueValue belongs on a stored property; this one holds no value.",
      3),
    .property(
      "@UniqueValue let id: String", "@UniqueValue can't be used on the id, which is always the unique key.",
      3),
  ]

  @Test("An option outside an entity is an error, because nothing reads it")
  func markersOutside() {
    let message = "@Indexed belongs on a property of a struct marked @Entity or @SettingsGroup."
    for (source, expanded) in [
      ("struct T {\n  @Indexed var a: Int\n}", "struct T {\n  var a: Int\n}"),
      ("struct T {\n  @Indexed func f() {}\n}", "struct T {\n  func f() {}\n}"),
    ] {
      expectExpansion(
        source, expanded, diagnostics: [DiagnosticSpec(message: message, line: 2, column: 3)],
        macros: markerMacros)
    }
  }

  @Test("Several mistakes are reported together") func atomic() {
    expectExpansion(
      "@Entity struct T {\n  let a = 1\n  var b: Int!\n}", "struct T {\n  let a = 1\n  var b: Int!\n}",
      diagnostics: [
        DiagnosticSpec(
          message: "'a' could never be read back: a 'let' keeps its initial value. Make it a 'var', "
            + "remove the value, or mark it @NotStored.", line: 2, column: 3,
          fixIts: [FixItSpec(message: "Replace 'let' with 'var'")]),
        DiagnosticSpec(
          message: "Declare it optional: 'Int?'.", line: 3, column: 10,
          fixIts: [FixItSpec(message: "Replace 'Int!' with 'Int?'")]),
      ])
  }
}
