import BothyStore

/// The document of a subscription: `{"type"?, "container"?, "children"?, "where"?, "through"?: [{"field", "equals",
/// "of", "where"?}], "windows"?: [{"field", "op", "offset"}], "place"?: {"field", "metres"}, "include"?: [names]}`.
///
/// Conditions are those of query documents. Unknown members are refused, because each of them narrows the records.
extension Subscription {
  /// Reads a document, of any form. Throws `BothyError` `invalidQuery`.
  package init(json: JSONValue) throws(BothyError) {
    let document = try QueryDocument(
      json, "A subscription",
      ["type", "container", "children", "where", "through", "windows", "place", "include"])
    var includesChildren = false
    switch document["children"] {
    case nil, .bool(false)?: break
    case .bool(true)?: includesChildren = true
    default: throw BothyError(.invalidQuery, "'children' of a subscription is true or false.")
    }
    var condition = ConditionTree.all
    if let json = document["where"] { condition = try ConditionTree(json: json) }
    var place: Circle?
    if let json = document["place"] { place = try Circle(json: json) }
    try self.init(
      type: document["type"] == nil ? nil : document.string("type"),
      container: document["container"] == nil ? nil : document.string("container"),
      includesChildren: includesChildren, condition: condition,
      links: Self.list(document["through"], "through", Link.init(json:)),
      windows: Self.list(document["windows"], "windows", Window.init(json:)), place: place,
      includes: document.strings("include") ?? [])
  }

  /// Reads the text of a document, in UTF-8. Throws `BothyError` `invalidQuery`, also for text that isn't JSON.
  package init(decoding bytes: [UInt8]) throws(BothyError) {
    let json: JSONValue
    do { json = try JSONValue(parsing: bytes) } catch {
      throw BothyError(.invalidQuery, "A subscription is a JSON document. \(error)")
    }
    try self.init(json: json)
  }

  /// The canonical form as text.
  package var text: String { String(decoding: canonical, as: UTF8.self) }

  private static func list<Element>(
    _ json: JSONValue?, _ name: String, _ element: (JSONValue) throws(BothyError) -> Element
  ) throws(BothyError) -> [Element] {
    guard let json else { return [] }
    guard let parts = json.arrayValue else {
      throw BothyError(.invalidQuery, "'\(name)' of a subscription is a list.")
    }
    var found: [Element] = []
    for part in parts { found.append(try element(part)) }
    return found
  }

  /// Returns the document with defaults left out.
  static func document(
    _ type: String?, _ container: String?, _ includesChildren: Bool, _ condition: ConditionTree,
    _ links: [Link], _ windows: [Window], _ place: Circle?, _ includes: [String]
  ) -> JSONValue {
    var members: [String: JSONValue] = [:]
    if let type { members["type"] = .string(type) }
    if let container { members["container"] = .string(container) }
    if includesChildren { members["children"] = true }
    if condition != .all { members["where"] = condition.json }
    if !links.isEmpty { members["through"] = .array(links.map(\.json)) }
    if !windows.isEmpty { members["windows"] = .array(windows.map(\.json)) }
    if let place { members["place"] = ["field": .string(place.field), "metres": .double(place.metres)] }
    if !includes.isEmpty { members["include"] = .array(includes.map { .string($0) }) }
    return .object(members)
  }
}

extension Subscription: Codable {
  /// Reads the text of a document.
  package init(from decoder: any Decoder) throws {
    try self.init(decoding: Array(try decoder.singleValueContainer().decode(String.self).utf8))
  }

  /// Writes the canonical text.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}

extension Subscription.Link {
  fileprivate init(json: JSONValue) throws(BothyError) {
    let document = try QueryDocument(json, "A link", ["field", "equals", "of", "where"])
    var condition = ConditionTree.all
    if let json = document["where"] { condition = try ConditionTree(json: json) }
    self.init(
      try document.string("field"), isIn: try document.string("equals"), of: try document.string("of"),
      where: condition)
  }

  var json: JSONValue {
    var members: [String: JSONValue] = [
      "field": .string(field), "equals": .string(target), "of": .string(type),
    ]
    if condition != .all { members["where"] = condition.json }
    return .object(members)
  }
}

extension Subscription.Window {
  fileprivate init(json: JSONValue) throws(BothyError) {
    let document = try QueryDocument(json, "A window", ["field", "op", "offset"])
    let field = try document.string("field")
    guard let comparison = ConditionTree.Comparison(rawValue: try document.string("op")) else {
      throw BothyError(.invalidQuery, "The window of '\(field)' needs 'op', one of <, <=, > and >=.")
    }
    guard let offset = document["offset"]?.intValue else {
      throw BothyError(.invalidQuery, "The window of '\(field)' needs 'offset', whole milliseconds from now.")
    }
    self.init(field, comparison, than: offset)
  }

  var json: JSONValue {
    ["field": .string(field), "op": .string(comparison.rawValue), "offset": .int(offset)]
  }
}

extension Subscription.Circle {
  fileprivate init(json: JSONValue) throws(BothyError) {
    let document = try QueryDocument(json, "'place'", ["field", "metres"])
    self.init(try document.string("field"), metres: try document.number("metres"))
  }
}

extension ConditionTree {
  /// Returns a condition of equal meaning that is equal for any order of its parts, as it is read from its document.
  ///
  /// Throws `BothyError` `invalidQuery` for a part that has no document, and for numbers that JSON lacks.
  func canonical() throws(BothyError) -> ConditionTree {
    guard isFinite else {
      throw BothyError(.invalidQuery, "A condition of a subscription has finite numbers and places on earth.")
    }
    return try ConditionTree(json: json).ordered
  }

  private var isFinite: Bool {
    switch self {
    case .and(let parts), .or(let parts): parts.allSatisfy(\.isFinite)
    case .not(let part): part.isFinite
    case .compare(_, _, let value): value.isFinite
    case .oneOf(_, let values): values.allSatisfy(\.isFinite)
    case .near(_, let centre, let metres): centre.isOnEarth && metres >= 0 && metres.isFinite
    case .inside(_, let box): box.isOnEarth
    default: true
    }
  }

  /// The condition with nested lists joined, and parts and values in one order without repetition.
  private var ordered: ConditionTree {
    switch self {
    case .and(let parts): return Self.ordered(parts, isAnd: true)
    case .or(let parts): return Self.ordered(parts, isAnd: false)
    case .not(let part):
      switch part.ordered {
      case .all: return .none
      case .none: return .all
      case .not(let inner): return inner
      case let other: return .not(other)
      }
    case .oneOf(let field, let values):
      let kept = values.sortedWithoutRepetition(by: \.json)
      if kept.isEmpty { return .none }
      return kept.count == 1 ? .compare(field: field, .equal, kept[0]) : .oneOf(field: field, kept)
    default: return self
    }
  }

  /// Returns the parts in order, joined by AND or else by OR.
  private static func ordered(_ parts: [ConditionTree], isAnd: Bool) -> ConditionTree {
    let (idle, deciding): (ConditionTree, ConditionTree) = isAnd ? (.all, .none) : (.none, .all)
    let flat = parts.map(\.ordered).flatMap { part -> [ConditionTree] in
      switch part {
      case .and(let inner) where isAnd, .or(let inner) where !isAnd: return inner
      default: return [part]
      }
    }
    if flat.contains(deciding) { return deciding }
    let kept = flat.filter { $0 != idle }.sortedWithoutRepetition(by: \.json)
    if kept.count < 2 { return kept.first ?? idle }
    return isAnd ? .and(kept) : .or(kept)
  }
}

extension FieldValue {
  fileprivate var isFinite: Bool {
    switch self {
    case .double(let number): number.isFinite
    case .coordinate(let place): place.isOnEarth
    default: true
    }
  }
}

extension Array {
  /// Returns the elements in the order of their JSON as text, each once.
  func sortedWithoutRepetition(by json: (Element) -> JSONValue) -> [Element] {
    let named = map { (text: Array<UInt8>(json($0).canonicalText.utf8), element: $0) }
      .sorted { $0.text.lexicographicallyPrecedes($1.text) }
    var kept: [Element] = []
    var last: [UInt8]?
    for (text, element) in named where text != last {
      kept.append(element)
      last = text
    }
    return kept
  }
}
