import BothyStore

import struct Foundation.Data

/// Compiles a checked condition to SQL over a record's fields as `jsonb`, true exactly if `ConditionTree.evaluate` is.
///
/// A field with JSON of another type than its kind counts as null. Every condition is true or false, never null, so
/// that `NOT` is exact. Texts compare by their bytes, also in `lower` and `strpos` under `COLLATE "C"`.
struct PostgresCondition {
  let type: TypeSchema
  /// The statement, which gets the arguments in the order of their numbers.
  private(set) var statement: PostgresStatement

  init(_ type: TypeSchema, _ statement: PostgresStatement) {
    self.type = type
    self.statement = statement
  }

  /// Returns true if PostgreSQL can decide the condition. It doesn't fold diacritics or store texts with a zero byte.
  static func isExact(_ condition: ConditionTree) -> Bool {
    switch condition {
    case .matches, .compareNaturally, .relates, .exists: false
    case .and(let parts), .or(let parts): parts.allSatisfy(isExact)
    case .not(let part): isExact(part)
    case .compare(_, _, let value): isPlain(value)
    case .oneOf(_, let values): values.allSatisfy(isPlain)
    case .contains(_, let text, _), .beginsWith(_, let text, _): !text.utf8.contains(0)
    case .includes(_, let element): isPlain(element) && hasAllDigits(element)
    case .all, .none, .near, .inside, .compareFields: true
    }
  }

  private static func isPlain(_ value: FieldValue) -> Bool {
    if case .text(let text) = value { !text.utf8.contains(0) } else { true }
  }

  /// Returns false for a number from 2^53 on. PostgreSQL compares the numbers of JSON by their digits, of which such
  /// ones may be written with fewer than they have.
  private static func hasAllDigits(_ number: FieldValue) -> Bool {
    switch number {
    case .int(let number): number.magnitude < 9_007_199_254_740_992
    case .double(let number): number.magnitude < 9_007_199_254_740_992
    default: true
    }
  }

  mutating func sql(_ condition: ConditionTree) throws(BothyError) -> String {
    switch condition {
    case .all: return "TRUE"
    case .none: return "FALSE"
    case .not(let part): return "NOT \(try sql(part))"
    case .and(let parts): return try joined(parts, " AND ", empty: "TRUE")
    case .or(let parts): return try joined(parts, " OR ", empty: "FALSE")
    case .compare(let field, let comparison, let value): return try compare(field, comparison, value)
    case .compareFields(let field, let comparison, let other):
      let (left, right) = (try expression(field), try expression(other))
      switch comparison {
      case .equal: return "\(left) IS NOT DISTINCT FROM \(right)"
      case .notEqual: return "\(left) IS DISTINCT FROM \(right)"
      default: return "coalesce(\(left) \(comparison.rawValue) \(right), FALSE)"
      }
    case .oneOf(let field, let values): return try list(field, values)
    case .contains(let field, let text, let ignoringCase):
      return "coalesce(strpos(\(try folded(field, text, ignoringCase))) > 0, FALSE)"
    case .beginsWith(let field, let text, let ignoringCase):
      return "coalesce(starts_with(\(try folded(field, text, ignoringCase))), FALSE)"
    case .includes(let name, let element):
      guard case .field(let field) = try type.queryField(name) else { return "FALSE" }
      let list = "d -> \(field.name.quotedText)"
      let isFound =
        if let text = element.text {
          "jsonb_exists(\(list), \(argument(text)))"
        } else {
          "(\(list)) @> \(argument(element.json.canonicalText))::jsonb"
        }
      return "coalesce(jsonb_typeof(\(list)) = 'array' AND \(isFound), FALSE)"
    case .near(let field, let centre, let metres):
      let box = GeoBox(around: centre, metres: metres)
      return
        "coalesce(\(try inside(field, box)) AND \(try distance(field, centre)) <= \(argument(metres)), FALSE)"
    case .inside(let field, let box): return "coalesce(\(try inside(field, box)), FALSE)"
    case .matches: throw BothyError(.invalidQuery, "PostgreSQL does not decide full-text conditions.")
    case .compareNaturally: throw BothyError(.invalidQuery, "PostgreSQL does not know the natural order.")
    case .relates, .exists:
      throw BothyError(.invalidQuery, "PostgreSQL does not decide the conditions of permissions.")
    }
  }

  private mutating func joined(
    _ parts: [ConditionTree], _ word: String, empty: String
  ) throws(BothyError) -> String {
    var all: [String] = []
    for part in parts { all.append(try sql(part)) }
    return all.isEmpty ? empty : "(" + all.joined(separator: word) + ")"
  }

  private mutating func compare(
    _ name: String, _ comparison: ConditionTree.Comparison, _ value: FieldValue
  ) throws(BothyError) -> String {
    if case .coordinate(let place) = value { return try equal(name, comparison, place) }
    let column = try expression(name)
    if value.isNull {
      switch comparison {
      case .equal: return "\(column) IS NULL"
      case .notEqual: return "\(column) IS NOT NULL"
      default: return "FALSE"
      }
    }
    guard let other = argument(value) else { return "FALSE" }
    switch comparison {
    case .notEqual: return "\(column) IS DISTINCT FROM \(other)"
    default: return "coalesce(\(column) \(comparison.rawValue) \(other), FALSE)"
    }
  }

  private mutating func equal(
    _ name: String, _ comparison: ConditionTree.Comparison, _ place: Coordinate
  ) throws(BothyError) -> String {
    let (latitude, longitude) = try position(name)
    let same =
      "coalesce(\(latitude) = \(argument(place.latitude)) AND \(longitude) = \(argument(place.longitude)), FALSE)"
    return comparison == .equal ? same : "NOT \(same)"
  }

  private mutating func list(_ name: String, _ values: [FieldValue]) throws(BothyError) -> String {
    let others = values.filter { value in
      if case .coordinate = value { true } else { value.isNull }
    }
    var parts: [String] = []
    for value in others { parts.append(try compare(name, .equal, value)) }
    let column = try expression(name)
    if let array = array(values.filter { !others.contains($0) }) {
      parts.append("coalesce(\(column) = ANY(\(array)), FALSE)")
    }
    return parts.isEmpty ? "FALSE" : "(" + parts.joined(separator: " OR ") + ")"
  }

  private mutating func folded(
    _ name: String, _ text: String, _ ignoringCase: Bool
  ) throws(BothyError) -> String {
    let column = try expression(name)
    return ignoringCase
      ? "lower(\(column)), lower(\(argument(text)) COLLATE \"C\")" : "\(column), \(argument(text))"
  }

  private mutating func inside(_ name: String, _ box: GeoBox) throws(BothyError) -> String {
    let (latitude, longitude) = try position(name)
    let word = box.west <= box.east ? "AND" : "OR"
    var sql = "(\(latitude) >= \(argument(box.south)) AND \(latitude) <= \(argument(box.north))"
    sql += " AND (\(longitude) >= \(argument(box.west)) \(word) \(longitude) <= \(argument(box.east))"
    if box.holds(180) != box.holds(-180) { sql += " OR abs(\(longitude)) = 180" }
    return sql + "))"
  }

  /// Returns the meters between a field and a place, by the formula of `Coordinate.distance` with its order of
  /// operations.
  ///
  /// PostgreSQL refuses products that are too small for a number, which Swift rounds to 0.
  mutating func distance(_ name: String, _ centre: Coordinate) throws(BothyError) -> String {
    let (latitude, longitude) = try position(name)
    let radians = argument(Double.pi / 180)
    let (north, east) = (argument(centre.latitude), argument(centre.longitude))
    func sine(_ half: String) -> String {
      "(CASE WHEN abs(\(half)) < 1e-100 THEN 0::float8 ELSE sin(\(half)) END)"
    }
    let up = sine("((\(north) - \(latitude)) * \(radians) / 2)")
    let along = sine("((\(east) - \(longitude)) * \(radians) / 2)")
    let chord =
      "\(up) * \(up) + cos(\(latitude) * \(radians)) * cos(\(north) * \(radians)) * \(along) * \(along)"
    return "(\(argument(2 * Coordinate.earthRadius)) * asin(least(1::float8, sqrt(\(chord)))))"
  }

  private func position(_ name: String) throws(BothyError) -> (String, String) {
    guard case .field(let field) = try type.queryField(name) else { return ("NULL::float8", "NULL::float8") }
    func part(_ name: String) -> String {
      let path = "d -> \(field.name.quotedText)"
      return
        "(CASE WHEN jsonb_typeof(\(path) -> '\(name)') = 'number' THEN (\(path) ->> '\(name)')::float8 END)"
    }
    return (part("lat"), part("lon"))
  }

  /// Returns the value of a field or pseudo-field, or null if it has none of its kind. For a coordinate it is the
  /// latitude.
  func expression(_ name: String) throws(BothyError) -> String {
    switch try type.queryField(name) {
    case .id: return "id"
    case .container: return "container"
    case .version: return "(position::text COLLATE \"C\")"
    case .created: return "(created::numeric)"
    case .modified: return "(modified::numeric)"
    case .owner: return "(owner COLLATE \"C\")"
    case .field(let field):
      let key = field.name.quotedText
      func typed(_ json: String, _ cast: String) -> String {
        "(CASE WHEN jsonb_typeof(d -> \(key)) = '\(json)' THEN (d ->> \(key))\(cast) END)"
      }
      switch field.kind {
      case .bool: return typed("boolean", "::boolean")
      case .int, .date: return typed("number", "::numeric")
      case .double: return typed("number", "::float8")
      case .text, .uuid, .reference, .data: return typed("string", " COLLATE \"C\"")
      case .coordinate: return try position(name).0
      case .json, .blob, .references: return "(d ->> \(key))"
      }
    }
  }

  // MARK: arguments

  mutating func bind(_ text: String?) { statement.bind(text) }
  mutating func bind(_ texts: [String]) { statement.bind(texts) }
  mutating func bind(_ number: Int64) { statement.bind(number) }

  private mutating func argument(_ text: String) -> String {
    statement.bind(text)
    return "$\(statement.parameterCount)"
  }

  private mutating func argument(_ number: Double) -> String {
    statement.bind(number)
    return "$\(statement.parameterCount)"
  }

  /// Adds an argument. Data has the form of base64 text in documents.
  private mutating func argument(_ value: FieldValue) -> String? {
    switch value {
    case .bool(let flag): statement.bind(flag)
    case .int(let number), .date(let number): statement.bind(number)
    case .double(let number): statement.bind(number)
    case .text(let text): statement.bind(text)
    case .data(let data): statement.bind(data.base64EncodedString())
    case .null, .coordinate, .json, .list: return nil
    }
    return "$\(statement.parameterCount)"
  }

  /// Adds values of one kind as an array.
  private mutating func array(_ values: [FieldValue]) -> String? {
    guard let first = values.first else { return nil }
    var cast = ""
    switch first {
    case .bool: statement.bind(values.compactMap { if case .bool(let flag) = $0 { flag } else { nil } })
    case .int, .date:
      statement.bind(values.compactMap(\.wholeNumber))
      cast = "::numeric[]"
    case .double:
      statement.bind(values.compactMap { if case .double(let number) = $0 { number } else { nil } })
    case .text, .data: statement.bind(values.compactMap(\.documentText))
    case .null, .coordinate, .json, .list: return nil
    }
    return "$\(statement.parameterCount)\(cast)"
  }
}

extension FieldValue {
  fileprivate var wholeNumber: Int64? {
    switch self {
    case .int(let number), .date(let number): number
    default: nil
    }
  }

  fileprivate var documentText: String? {
    switch self {
    case .text(let text): text
    case .data(let data): data.base64EncodedString()
    default: nil
    }
  }
}

extension String {
  /// The text as a literal of SQL.
  fileprivate var quotedText: String { "'" + replacing("'", with: "''") + "'" }
}
