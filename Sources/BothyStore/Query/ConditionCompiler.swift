/// Compiles a checked condition to SQL that is true exactly if `ConditionTree.evaluate` is.
///
/// SQL's third truth value appears only where the condition is false. A negated leaf is compiled as
/// `(leaf) IS NOT TRUE`, which turns both into true. Values are arguments, never text. Truth values are text, because
/// SQLite chooses an index of some records by the text of its condition.
struct ConditionCompiler<Columns: ColumnExpressions> {
  let type: TypeSchema
  let columns: Columns
  private(set) var result = SQLFragment("")
  /// The number of further conditions on places that may use an index. Each reads the entries in its box before the
  /// first row.
  private var indexUses = 32

  init(_ type: TypeSchema, _ columns: Columns) {
    self.type = type
    self.columns = columns
  }

  mutating func append(_ condition: ConditionTree, negated: Bool = false) throws(BothyError) {
    switch condition {
    case .all: result += negated ? "FALSE" : "TRUE"
    case .none: result += negated ? "TRUE" : "FALSE"
    case .not(let part): try append(part, negated: !negated)
    case .and(let parts): try join(parts, isAnd: !negated, negated: negated)
    case .or(let parts): try join(parts, isAnd: negated, negated: negated)
    case .compare(let field, .equal, let value): try appendEquality(field, value, negated: negated)
    case .compare(let field, .notEqual, let value): try appendEquality(field, value, negated: !negated)
    case .compareFields(let field, .equal, let other):
      result += try "\(column(field)) IS \(negated ? "NOT " : "")\(column(other))"
    case .compareFields(let field, .notEqual, let other):
      result += try "\(column(field)) IS \(negated ? "" : "NOT ")\(column(other))"
    default:
      if negated { result += "(" }
      try appendLeaf(condition, negated: negated)
      if negated { result += ") IS NOT TRUE" }
    }
  }

  /// Restricts the appended condition to the records of one container, optionally with those below it.
  mutating func restrict(to container: String, withChildren: Bool) {
    var own = columns.isContainer(container)
    if withChildren && container.isEmpty { return }
    if withChildren {
      let below = columns.isBelow(container)
      own = SQLFragment("(\(own.sql) OR \(below.sql))", own.arguments + below.arguments)
    }
    result = SQLFragment(
      result.sql == "TRUE" ? own.sql : "\(own.sql) AND \(result.sql)", own.arguments + result.arguments)
  }

  /// Joins parts, with negation moved inward by De Morgan's laws. Parts of one operator are joined in one list. Long
  /// lists become a balanced tree, because SQLite limits the depth of an expression. The part that needs most of its
  /// parser's stack (100 symbols) is written first, while the stack is empty.
  private mutating func join(_ parts: [ConditionTree], isAnd: Bool, negated: Bool) throws(BothyError) {
    var flat: [(ConditionTree, Bool)] = []
    Self.flatten(parts, isAnd: isAnd, negated: negated, into: &flat)
    guard !flat.isEmpty else { return result += isAnd ? "TRUE" : "FALSE" }
    if flat.count > 1, flat.contains(where: { $0.0.parserNeed > 0 }) {
      flat = flat.map { ($0, $0.0.parserNeed) }.sorted { $0.1 > $1.1 }.map(\.0)
    }
    try join(flat[...], isAnd ? " AND " : " OR ")
  }

  private mutating func join(_ parts: ArraySlice<(ConditionTree, Bool)>, _ word: String) throws(BothyError) {
    if parts.count == 1, let (part, negated) = parts.first { return try append(part, negated: negated) }
    result += "("
    if parts.count > 64 {
      let middle = (parts.startIndex + parts.endIndex) / 2
      try join(parts[..<middle], word)
      result += word
      try join(parts[middle...], word)
    } else {
      for (index, (part, negated)) in zip(parts.indices, parts) {
        if index > parts.startIndex { result += word }
        try append(part, negated: negated)
      }
    }
    result += ")"
  }

  private static func flatten(
    _ parts: [ConditionTree], isAnd: Bool, negated: Bool, into flat: inout [(ConditionTree, Bool)]
  ) {
    for part in parts {
      switch part {
      case .and(let inner) where isAnd == !negated:
        flatten(inner, isAnd: isAnd, negated: negated, into: &flat)
      case .or(let inner) where isAnd == negated:
        flatten(inner, isAnd: isAnd, negated: negated, into: &flat)
      case .not(let inner): flatten([inner], isAnd: isAnd, negated: !negated, into: &flat)
      default: flat.append((part, negated))
      }
    }
  }

  private mutating func appendEquality(_ name: String, _ value: FieldValue, negated: Bool) throws(BothyError)
  {
    if case .coordinate(let place) = value {
      let (latitude, longitude) = try position(name)
      let here = GeoBox(
        west: place.longitude, south: place.latitude, east: place.longitude, north: place.latitude)
      result += "("
      if !negated { try appendCandidates(name, here) }
      result += SQLFragment(
        "\(latitude) = ? AND \(longitude) = ?)" + (negated ? " IS NOT TRUE" : ""),
        [.double(place.latitude), .double(place.longitude)])
    } else if value.isNull {
      result += try column(name) + (negated ? " IS NOT NULL" : " IS NULL")
    } else if case .bool(let flag) = value {
      result += try column(name) + (negated ? " IS NOT " : " = ") + (flag ? "1" : "0")
    } else {
      result += SQLFragment(try column(name) + (negated ? " IS NOT ?" : " = ?"), [columns.argument(value)])
    }
  }

  private mutating func appendLeaf(_ condition: ConditionTree, negated: Bool) throws(BothyError) {
    switch condition {
    case .compare(let name, let comparison, let value):
      if value.isNull { return result += "FALSE" }
      result += SQLFragment("\(try column(name)) \(comparison.rawValue) ?", [columns.argument(value)])
    case .compareFields(let name, let comparison, let other):
      result += try "\(column(name)) \(comparison.rawValue) \(column(other))"
    case .compareNaturally(let name, let comparison, let text):
      let sign = comparison == .notEqual ? "IS NOT" : comparison.rawValue
      result += SQLFragment(
        "\(try columns.natural(name, type)) \(sign) ?", [.text(NaturalOrder.key(of: text))])
    case .oneOf(let name, let values): try appendList(name, values)
    case .contains(let name, let text, let ignoringCase):
      let column = try column(name)
      result +=
        ignoringCase
        ? SQLFragment("instr(lower(\(column)), ?) > 0", [.text(text.asciiLowercased)])
        : SQLFragment("instr(\(column), ?) > 0", [.text(text)])
    case .beginsWith(let name, let text, let ignoringCase):
      try appendPrefix(name, text, ignoringCase)
    case .includes(let name, let element):
      guard case .field(let field) = try type.queryField(name) else { return result += "FALSE" }
      result += columns.includes(element, in: field, of: type)
    case .near(let name, let centre, let metres): try appendNear(name, centre, metres, negated: negated)
    case .inside(let name, let box):
      result += "("
      if !negated { try appendCandidates(name, box) }
      try appendBox(name, box)
      result += ")"
    case .matches(let text, let fields, let least):
      let search = FieldSearch(text, in: fields, of: type)
      if search.search.terms.isEmpty { return result += least > 0 ? "FALSE" : "TRUE" }
      result += columns.matches(search.search, in: type.searched(fields), type)
      guard least > 0 else { break }
      result += " AND "
      result += columns.rank(search, type)
      result += SQLFragment(" >= ?", [.int(Int64(least))])
    case .relates, .exists:
      throw .invalidQuery("'\(condition)' has a meaning in the permissions of a schema only.")
    case .all, .none, .and, .or, .not: try append(condition)
    }
  }

  /// Passes long lists of text and whole numbers as one JSON argument, because SQLite limits the number of arguments.
  private mutating func appendList(_ name: String, _ values: [FieldValue]) throws(BothyError) {
    let isCoordinate = try type.queryField(name).kind == .coordinate
    if isCoordinate || values.contains(.null) {
      var parts: [ConditionTree] = values.filter { isCoordinate || $0.isNull }
        .map { .compare(field: name, .equal, $0) }
      if !isCoordinate { parts.append(.oneOf(field: name, values.filter { !$0.isNull })) }
      return try append(.or(parts))
    }
    let column = try column(name)
    guard values.count > 500, let json = values.jsonList else {
      let marks = Array(repeating: "?", count: values.count).joined(separator: ", ")
      return result += SQLFragment("\(column) IN (\(marks))", values.map { columns.argument($0) })
    }
    result += SQLFragment("\(column) IN (SELECT value FROM json_each(?))", [.text(json)])
  }

  /// Compiles a prefix to the range from the prefix to the next text of that length, which an index serves.
  private mutating func appendPrefix(_ name: String, _ text: String, _ ignoringCase: Bool) throws(BothyError)
  {
    let column = try column(name)
    if text.isEmpty {
      result += "\(column) IS NOT NULL"
    } else if ignoringCase {
      result += SQLFragment("instr(lower(\(column)), ?) = 1", [.text(text.asciiLowercased)])
    } else if let end = text.nextOfSameLength {
      result += SQLFragment("(\(column) >= ? AND \(column) < ?)", [.text(text), .text(end)])
    } else {
      result += SQLFragment("instr(\(column), ?) = 1", [.text(text)])
    }
  }

  /// Compiles a circle. The box around it avoids measuring; the distance decides.
  private mutating func appendNear(
    _ name: String, _ centre: Coordinate, _ metres: Double, negated: Bool
  ) throws(BothyError) {
    let (latitude, longitude) = try position(name)
    let box = GeoBox(around: centre, metres: metres)
    result += "("
    if !negated { try appendCandidates(name, box) }
    try appendBox(name, box)
    result += SQLFragment(
      " AND bothy_distance(\(latitude), \(longitude), ?, ?) <= ?)",
      [.double(centre.latitude), .double(centre.longitude), .double(metres)])
  }

  /// Writes `… AND` before a condition, with the rows whose coordinate is in the box, if an index finds them.
  private mutating func appendCandidates(_ name: String, _ box: GeoBox) throws(BothyError) {
    guard indexUses > 0, case .field(let field) = try type.queryField(name),
      let candidates = columns.candidates(in: box, of: field)
    else { return }
    indexUses -= 1
    result += candidates
    result += " AND "
  }

  private mutating func appendBox(_ name: String, _ box: GeoBox) throws(BothyError) {
    let (latitude, longitude) = try position(name)
    let word = box.west <= box.east ? "AND" : "OR"
    result += SQLFragment(
      "(\(latitude) >= ? AND \(latitude) <= ? AND (\(longitude) >= ? \(word) \(longitude) <= ?",
      [.double(box.south), .double(box.north), .double(box.west), .double(box.east)])
    if box.holds(180) != box.holds(-180) { result += " OR \(longitude) IN (-180, 180)" }
    result += "))"
  }

  private func position(_ name: String) throws(BothyError) -> (String, String) {
    guard case .field(let field) = try type.queryField(name) else { return ("NULL", "NULL") }
    return (columns.latitude(of: field), columns.longitude(of: field))
  }

  private func column(_ name: String) throws(BothyError) -> String { try columns.expression(name, type) }
}

extension ColumnExpressions {
  /// Returns the SQL of a field or pseudo-field. That of a coordinate is its latitude, which is null when the field is.
  func expression(_ name: String, _ type: TypeSchema) throws(BothyError) -> String {
    switch try type.queryField(name) {
    case .field(let field): field.kind == .coordinate ? latitude(of: field) : value(of: field)
    case .id: id
    case .container: container
    case .version: version
    case .created: created
    case .modified: modified
    case .owner: owner
    }
  }
}

extension ConditionTree {
  /// The stack that a left-to-right parser needs for the condition with its largest parts first. Sethi and Ullman's
  /// numbering (1970): a parenthesis is one symbol, an operand that waits for the next one two.
  fileprivate var parserNeed: Int {
    switch self {
    case .not(let part): return part.parserNeed
    case .and(let parts), .or(let parts):
      var (first, second) = (-2, -2)
      for need in parts.map(\.parserNeed) {
        if need > first { (first, second) = (need, first) } else if need > second { second = need }
      }
      return 1 + max(first, second + 2)
    default: return 0
    }
  }
}
