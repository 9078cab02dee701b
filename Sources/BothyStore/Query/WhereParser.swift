/// Reads the text form of a condition, the argument of `bothy db query --where`:
///
/// ```
/// done = false AND (due < 2026-12-01 OR title CONTAINS 'milk') AND NOT tag IN ('a', 'b')
/// spent > budget  note IS NULL    title BEGINSWITH 'x'    title CONTAINS[c] 'x'    friends INCLUDES 'id'
/// heights INCLUDES 12.5    title NATURAL < 'item 10'    MATCHES 'oslo fj'    MATCHES 'fj* oslo' IN (title, notes)
/// location WITHIN 500 m OF 59.91,10.75    location WITHIN 2 km OF 59.91,10.75
/// location INSIDE 10.6,59.8,10.9,60.0 (west, south, east, north)
/// ```
///
/// Permissions also have the caller, and records of other types that name both:
///
/// ```
/// owner = principal.name    team IN principal.groups    readers INCLUDES principal.name
/// EXISTS(Membership WHERE project = record.project AND user = principal.name)
/// ```
///
/// Keywords may be written in any case. Text is in single or double quotes, with a quote inside doubled. Fields and
/// kinds are checked when the query runs. Reads left to right once; nesting is limited.
package struct WhereParser {
  private var lexer: WhereLexer
  private var token: WhereLexer.Token
  private var ahead: WhereLexer.Token
  private var depth = 0

  /// Returns the condition of `text`. Empty text is true of every record. Throws `WhereSyntaxError`.
  package static func parse(_ text: String) throws(WhereSyntaxError) -> ConditionTree {
    var parser = try WhereParser(text)
    if parser.token.kind == .end { return .all }
    let condition = try parser.disjunction()
    guard parser.token.kind == .end else {
      throw parser.error("A condition ends here. Join it with what follows by AND or OR.")
    }
    return condition
  }

  private init(_ text: String) throws(WhereSyntaxError) {
    lexer = WhereLexer(text)
    token = try lexer.next()
    ahead = try lexer.next()
  }

  private mutating func disjunction() throws(WhereSyntaxError) -> ConditionTree {
    var parts = [try conjunction()]
    while try takeWord("OR") { parts.append(try conjunction()) }
    return parts.count == 1 ? parts[0] : .or(parts)
  }

  private mutating func conjunction() throws(WhereSyntaxError) -> ConditionTree {
    var parts = [try term()]
    while try takeWord("AND") { parts.append(try term()) }
    return parts.count == 1 ? parts[0] : .and(parts)
  }

  private mutating func term() throws(WhereSyntaxError) -> ConditionTree {
    depth += 1
    defer { depth -= 1 }
    guard depth <= ConditionTree.maximumDepth else {
      throw error("Conditions are nested deeper than \(ConditionTree.maximumDepth) levels. Split the query.")
    }
    if !aheadContinuesField, try takeWord("NOT") { return .not(try term()) }
    if try takeSign("(") {
      let inner = try disjunction()
      try requireSign(")", "Add ')' to close the parenthesis.")
      return inner
    }
    if !aheadContinuesField {
      if try takeWord("TRUE") { return .all }
      if try takeWord("FALSE") { return .none }
      if case .string = ahead.kind, try takeWord("MATCHES") { return try search() }
      if ahead.kind == .sign("("), try takeWord("EXISTS") { return try existence() }
    }
    guard case .word(let field) = token.kind else {
      throw error("A condition starts with a field: done = false.")
    }
    try advance()
    return try condition(on: field)
  }

  private mutating func condition(on field: String) throws(WhereSyntaxError) -> ConditionTree {
    if case .sign(let sign) = token.kind, let comparison = ConditionTree.Comparison(rawValue: sign) {
      try advance()
      if let other = try openValue() { return .relates(field: field, .compares(comparison), to: other) }
      if case .word(let other) = token.kind, !Self.constants.contains(other.uppercased()) {
        try advance()
        return .compareFields(field, comparison, other)
      }
      return .compare(field: field, comparison, try value())
    }
    if try takeWord("NATURAL") {
      guard case .sign(let sign) = token.kind, let comparison = ConditionTree.Comparison(rawValue: sign)
      else { throw error("After NATURAL comes a comparison with a text: title NATURAL < 'item 10'.") }
      try advance()
      return .compareNaturally(field: field, comparison, try string())
    }
    if try takeWord("IS") {
      let negated = try takeWord("NOT")
      guard try takeWord("NULL") else { throw error("After IS comes NULL or NOT NULL.") }
      return .compare(field: field, negated ? .notEqual : .equal, .null)
    }
    if try takeWord("NOT") {
      guard try takeWord("IN") else { throw error("'\(field) NOT' needs IN ('a', 'b') after it.") }
      return .not(try choice(field))
    }
    if try takeWord("IN") { return try choice(field) }
    if try takeWord("CONTAINS") {
      let ignoringCase = try caseOption()
      return .contains(field: field, try string(), ignoringCase: ignoringCase)
    }
    if try takeWord("BEGINSWITH") {
      let ignoringCase = try caseOption()
      return .beginsWith(field: field, try string(), ignoringCase: ignoringCase)
    }
    if try takeWord("INCLUDES") {
      if let other = try openValue() { return .relates(field: field, .includes, to: other) }
      return .includes(field: field, try value())
    }
    if try takeWord("WITHIN") { return try circle(field) }
    if try takeWord("INSIDE") { return try box(field) }
    throw error(
      "After the field '\(field)' comes =, !=, <, <=, >, >=, IS, IN, CONTAINS, BEGINSWITH, INCLUDES, NATURAL, "
        + "WITHIN or INSIDE.")
  }

  /// Reads the rest of `MATCHES 'words' IN (title, notes) RANK 300`.
  private mutating func search() throws(WhereSyntaxError) -> ConditionTree {
    let text = try string()
    let fields = try takeWord("IN") ? searchedFields() : []
    guard try takeWord("RANK") else { return .matches(text, in: fields) }
    let column = token.column
    guard let least = Int(exactly: try number("the least relevance")), least >= 0 else {
      throw lexer.error("The least relevance is a whole number from 0.", column)
    }
    return .matches(text, in: fields, atLeast: least)
  }

  private mutating func searchedFields() throws(WhereSyntaxError) -> [String] {
    try requireSign("(", "After IN come the fields that are searched: IN (title, notes).")
    var fields: [String] = []
    repeat {
      guard case .word(let field) = token.kind else { throw error("The name of a field is missing here.") }
      fields.append(field)
      try advance()
    } while try takeSign(",")
    try requireSign(")", "Separate the fields by ',' and close their list by ')'.")
    return fields
  }

  private mutating func choice(_ field: String) throws(WhereSyntaxError) -> ConditionTree {
    if let other = try openValue() { return .relates(field: field, .isOneOf, to: other) }
    return .oneOf(field: field, try list())
  }

  /// Reads the rest of `EXISTS(Type WHERE condition)`.
  private mutating func existence() throws(WhereSyntaxError) -> ConditionTree {
    try requireSign("(", "After EXISTS comes '(': EXISTS(Membership WHERE user = principal.name).")
    guard case .word(let type) = token.kind, !type.contains(".") else {
      throw error("Here belongs the name of a type: EXISTS(Membership WHERE user = principal.name).")
    }
    try advance()
    guard try takeWord("WHERE") else { throw error("After the type comes WHERE and a condition.") }
    let condition = try disjunction()
    try requireSign(")", "Add ')' to close EXISTS.")
    return .exists(type: type, condition)
  }

  /// Reads a value of the caller or of the record, if one is next.
  private mutating func openValue() throws(WhereSyntaxError) -> String? {
    guard case .word(let word) = token.kind else { return nil }
    if word == "principal" || word == "record" || word.contains(".") {
      guard OpenValue.isKnown(word) else {
        throw error(
          "'\(word)' isn't known. Possible: \(OpenValue.name), \(OpenValue.groups), and in EXISTS record.FIELD."
        )
      }
      try advance()
      return word
    }
    return nil
  }

  private mutating func circle(_ field: String) throws(WhereSyntaxError) -> ConditionTree {
    var metres = try number("a radius in metres")
    if try takeWord("KM") { metres *= 1000 } else { _ = try takeWord("M") }
    guard try takeWord("OF") else { throw error("After the radius comes OF and a place: OF 59.91,10.75.") }
    let latitude = try number("a latitude")
    try requireSign(",", "A place is latitude,longitude: 59.91,10.75.")
    let centre = Coordinate(latitude: latitude, longitude: try number("a longitude"))
    return .near(field: field, centre: centre, metres: metres)
  }

  private mutating func box(_ field: String) throws(WhereSyntaxError) -> ConditionTree {
    var edges: [Double] = []
    for name in ["west", "south", "east", "north"] {
      if !edges.isEmpty { try requireSign(",", "A box is west,south,east,north: 10.6,59.8,10.9,60.0.") }
      edges.append(try number("the box's \(name) edge in degrees"))
    }
    return .inside(field: field, GeoBox(west: edges[0], south: edges[1], east: edges[2], north: edges[3]))
  }

  private mutating func list() throws(WhereSyntaxError) -> [FieldValue] {
    try requireSign("(", "After IN comes a list: ('a', 'b').")
    if try takeSign(")") { return [] }
    var values = [try value()]
    while try takeSign(",") { values.append(try value()) }
    try requireSign(")", "Separate the values of a list by ',' and close it by ')'.")
    return values
  }

  /// The words that are values and not fields after a comparison.
  private static let constants: Set<String> = ["TRUE", "FALSE", "NULL"]

  private mutating func value() throws(WhereSyntaxError) -> FieldValue {
    let found: FieldValue
    switch token.kind {
    case .string(let text): found = .text(text)
    case .value(let value): found = value
    case .word(let word):
      switch word.uppercased() {
      case "TRUE": found = true
      case "FALSE": found = false
      case "NULL": found = .null
      default: throw error("Text needs quotes: '\(word)'.")
      }
    case .sign, .end: throw error("A value is missing here: 'text', 12.5, 2026-12-01, true, false or null.")
    }
    try advance()
    return found
  }

  private mutating func string() throws(WhereSyntaxError) -> String {
    guard case .string(let text) = token.kind else { throw error("Text in quotes is missing here: 'milk'.") }
    try advance()
    return text
  }

  private mutating func number(_ what: String) throws(WhereSyntaxError) -> Double {
    let found: Double
    switch token.kind {
    case .value(.int(let number)): found = Double(number)
    case .value(.double(let number)): found = number
    default: throw error("Here belongs \(what), a number.")
    }
    try advance()
    return found
  }

  private mutating func caseOption() throws(WhereSyntaxError) -> Bool {
    guard try takeSign("[") else { return false }
    guard try takeWord("C") else { throw error("The only option is [c], which ignores the case of letters.") }
    try requireSign("]", "Close the option by ']': [c].")
    return true
  }

  /// True if the current word is a field although it looks like a keyword, because a comparison follows.
  private var aheadContinuesField: Bool {
    if case .sign(let sign) = ahead.kind { ConditionTree.Comparison(rawValue: sign) != nil } else { false }
  }

  private mutating func takeWord(_ keyword: String) throws(WhereSyntaxError) -> Bool {
    guard case .word(let word) = token.kind, word.uppercased() == keyword else { return false }
    try advance()
    return true
  }

  private mutating func takeSign(_ sign: String) throws(WhereSyntaxError) -> Bool {
    guard token.kind == .sign(sign) else { return false }
    try advance()
    return true
  }

  private mutating func requireSign(_ sign: String, _ message: String) throws(WhereSyntaxError) {
    guard try takeSign(sign) else { throw error(message) }
  }

  private mutating func advance() throws(WhereSyntaxError) {
    token = ahead
    ahead = try lexer.next()
  }

  private func error(_ message: String) -> WhereSyntaxError { lexer.error(message, token.column) }
}
