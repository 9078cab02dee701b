/// Conditions in a query document: `{"and": […]}`, `{"or": […]}`, `{"not": {…}}`,
/// `{"matches": "text", "in": ["title"], "atLeast": 1}`, `{"near": {"field", "lat", "lon", "metres"}}`,
/// `{"inside": {"field", "west", "south", "east", "north"}}`,
/// `{"field", "op", "value", "ignoringCase", "natural"}` with the operators `=`, `!=`, `<`, `<=`, `>`, `>=`, `in`,
/// `contains`, `beginsWith`, `includes`, `{"field", "op", "other"}` with the first six and another field.
extension ConditionTree {
  /// Reads a condition. The kinds of values are guessed. Throws `BothyError` `invalidQuery`.
  package init(json: JSONValue) throws(BothyError) { try self.init(json: json, depth: 0) }

  private init(json: JSONValue, depth: Int) throws(BothyError) {
    guard depth <= Self.maximumDepth else {
      throw .invalidQuery("Conditions are nested deeper than \(Self.maximumDepth) levels. Split the query.")
    }
    if json["field"] != nil {
      try self.init(comparison: json)
    } else if json["near"] != nil {
      try self.init(near: json)
    } else if json["inside"] != nil {
      try self.init(inside: json)
    } else if json["matches"] != nil {
      let document = try QueryDocument(json, "A search", ["matches", "in", "atLeast"])
      self = .matches(
        try document.string("matches"), in: try document.strings("in") ?? [],
        atLeast: try document.count("atLeast") ?? 0)
    } else {
      let document = try QueryDocument(
        json, "A condition", ["and", "or", "not", "matches", "near", "inside", "field"])
      guard json.objectValue?.count == 1 else {
        throw .invalidQuery("A condition has one of: and, or, not, matches, near, inside, field.")
      }
      if let parts = document["and"] {
        let parts = try Self.list(parts, depth)
        self = parts.isEmpty ? .all : .and(parts)
      } else if let parts = document["or"] {
        let parts = try Self.list(parts, depth)
        self = parts.isEmpty ? .none : .or(parts)
      } else {
        self = .not(try ConditionTree(json: document["not"] ?? .null, depth: depth + 1))
      }
    }
  }

  private static func list(_ json: JSONValue, _ depth: Int) throws(BothyError) -> [ConditionTree] {
    guard let parts = json.arrayValue else {
      throw .invalidQuery("'and' and 'or' take a list of conditions.")
    }
    var result: [ConditionTree] = []
    for part in parts { result.append(try ConditionTree(json: part, depth: depth + 1)) }
    return result
  }

  private init(comparison json: JSONValue) throws(BothyError) {
    let document = try QueryDocument(
      json, "A condition", ["field", "op", "value", "other", "ignoringCase", "natural"])
    let field = try document.string("field")
    let name = try document.string("op")
    if document["other"] != nil {
      guard let comparison = Comparison(rawValue: name), json.objectValue?.count == 3 else {
        throw .invalidQuery("A condition with 'other' has 'field' and one of =, !=, <, <=, >, >= as 'op'.")
      }
      self = .compareFields(field, comparison, try document.string("other"))
      return
    }
    guard let value = document["value"] else {
      throw .invalidQuery("The condition on '\(field)' has no 'value'.")
    }
    let takesCase = name == "contains" || name == "beginsWith"
    guard document["ignoringCase"] == nil || (takesCase && document["ignoringCase"]?.boolValue != nil) else {
      throw .invalidQuery("'ignoringCase' is true or false and works with 'contains' and 'beginsWith' only.")
    }
    let ignoringCase = document["ignoringCase"]?.boolValue ?? false
    if let natural = document["natural"] {
      guard natural == .bool(true), let comparison = Comparison(rawValue: name), let text = value.stringValue
      else { throw .invalidQuery("'natural' is true, and compares with a text by =, !=, <, <=, >, >=.") }
      self = .compareNaturally(field: field, comparison, text)
      return
    }
    switch name {
    case "in":
      guard let values = value.arrayValue else { throw .invalidQuery("'in' on '\(field)' takes a list.") }
      self = .oneOf(field: field, values.map { FieldValue(guessing: $0) })
    case "contains":
      self = .contains(field: field, try document.string("value"), ignoringCase: ignoringCase)
    case "beginsWith":
      self = .beginsWith(field: field, try document.string("value"), ignoringCase: ignoringCase)
    case "includes": self = .includes(field: field, FieldValue(guessing: value))
    default:
      guard let comparison = Comparison(rawValue: name) else {
        throw .invalidQuery(
          "'\(name)' isn't an operator. Known: =, !=, <, <=, >, >=, in, contains, beginsWith, includes.")
      }
      self = .compare(field: field, comparison, FieldValue(guessing: value))
    }
  }

  private init(near json: JSONValue) throws(BothyError) {
    let outer = try QueryDocument(json, "A condition", ["near"])
    let document = try QueryDocument(outer["near"] ?? .null, "'near'", ["field", "lat", "lon", "metres"])
    let centre = Coordinate(latitude: try document.number("lat"), longitude: try document.number("lon"))
    self = .near(field: try document.string("field"), centre: centre, metres: try document.number("metres"))
  }

  private init(inside json: JSONValue) throws(BothyError) {
    let outer = try QueryDocument(json, "A condition", ["inside"])
    let document = try QueryDocument(
      outer["inside"] ?? .null, "'inside'", ["field", "west", "south", "east", "north"])
    let box = GeoBox(
      west: try document.number("west"), south: try document.number("south"),
      east: try document.number("east"), north: try document.number("north"))
    self = .inside(field: try document.string("field"), box)
  }

  /// The document that `init(json:)` reads.
  package var json: JSONValue {
    switch self {
    case .all: return ["and": []]
    case .none: return ["or": []]
    case .and(let parts): return ["and": .array(parts.map(\.json))]
    case .or(let parts): return ["or": .array(parts.map(\.json))]
    case .not(let part): return ["not": part.json]
    case .compare(let field, let comparison, let value):
      return Self.document(field, comparison.rawValue, value.json)
    case .compareFields(let field, let comparison, let other):
      return ["field": .string(field), "op": .string(comparison.rawValue), "other": .string(other)]
    case .compareNaturally(let field, let comparison, let text):
      return [
        "field": .string(field), "op": .string(comparison.rawValue), "value": .string(text), "natural": true,
      ]
    case .oneOf(let field, let values): return Self.document(field, "in", .array(values.map(\.json)))
    case .contains(let field, let text, let ignoringCase):
      return Self.document(field, "contains", .string(text), ignoringCase)
    case .beginsWith(let field, let text, let ignoringCase):
      return Self.document(field, "beginsWith", .string(text), ignoringCase)
    case .includes(let field, let element): return Self.document(field, "includes", element.json)
    case .near(let field, let centre, let metres):
      return [
        "near": [
          "field": .string(field), "lat": .double(centre.latitude), "lon": .double(centre.longitude),
          "metres": .double(metres),
        ]
      ]
    case .inside(let field, let box):
      return [
        "inside": [
          "field": .string(field), "west": .double(box.west), "south": .double(box.south),
          "east": .double(box.east), "north": .double(box.north),
        ]
      ]
    case .matches(let text, let fields, let least):
      var members: [String: JSONValue] = ["matches": .string(text)]
      if !fields.isEmpty { members["in"] = .array(fields.map { .string($0) }) }
      if least > 0 { members["atLeast"] = .int(Int64(least)) }
      return .object(members)
    // No server reads these in a query.
    case .relates, .exists: return ["permission": .string(description)]
    }
  }

  private static func document(
    _ field: String, _ name: String, _ value: JSONValue, _ ignoringCase: Bool = false
  ) -> JSONValue {
    var members: [String: JSONValue] = ["field": .string(field), "op": .string(name), "value": value]
    if ignoringCase { members["ignoringCase"] = true }
    return .object(members)
  }
}

extension FieldValue {
  /// The value as a JSON tree, as `write(to:)` writes it.
  package var json: JSONValue {
    var writer = JSONWriter()
    write(to: &writer)
    return (try? JSONValue(parsing: writer.bytes)) ?? .null  // what the writer writes parses
  }
}
