/// The query document of tools and the wire: `{"type", "where", "order": ["-due", "title"], "limit", "offset",
/// "container", "children": true, "include": ["owner"]}`. A sort key by distance is `{"nearest": {"field", "lat",
/// "lon"}}`, the farthest first `{"farthest": {…}}`, and one by the natural order of texts `{"natural": "-title"}`.
extension AnyQuery {
  /// Reads a query document. With a schema, values get the kinds of their fields. Without one, kinds are guessed from
  /// the JSON and converted when the query runs.
  ///
  /// Throws `BothyError` `invalidQuery` for a malformed document or an unknown member, and `unknownType` or
  /// `unknownField` if the schema has no such type or field.
  package init(json: JSONValue, schema: StoreSchema? = nil) throws(BothyError) {
    let document = try QueryDocument(
      json, "The query", ["type", "where", "order", "limit", "offset", "container", "children", "include"])
    self.init(try document.string("type"))
    if let condition = document["where"] { filter = try ConditionTree(json: condition) }
    if let keys = document["order"] {
      guard let keys = keys.arrayValue else { throw .invalidQuery("'order' is a list of sort keys.") }
      for key in keys { order.append(try SortKey(json: key)) }
    }
    limit = try document.count("limit")
    offset = try document.count("offset") ?? 0
    container = try document["container"] == nil ? nil : document.string("container")
    switch document["children"] {
    case nil, .bool(false)?: break
    case .bool(true)?: includesChildren = true
    default: throw .invalidQuery("'children' is true or false.")
    }
    include = try document.strings("include") ?? []
    if let schema {
      guard let type = schema[type] else {
        let known = schema.types.map(\.name).sorted().joined(separator: ", ")
        throw BothyError(.unknownType, "The schema has no type '\(type)'. Known: \(known).")
      }
      self = try checked(for: type)
    }
  }

  /// The document that `init(json:)` reads, with defaults left out.
  package var json: JSONValue {
    var members: [String: JSONValue] = ["type": .string(type)]
    if filter != .all && filter != .and([]) { members["where"] = filter.json }
    if !order.isEmpty { members["order"] = .array(order.map(\.json)) }
    if let limit { members["limit"] = .int(Int64(limit)) }
    if offset != 0 { members["offset"] = .int(Int64(offset)) }
    if let container { members["container"] = .string(container) }
    if includesChildren { members["children"] = true }
    if !include.isEmpty { members["include"] = .array(include.map { .string($0) }) }
    return .object(members)
  }
}

extension SortKey {
  /// Reads a sort key of a query document. Throws `BothyError` `invalidQuery`.
  init(json: JSONValue) throws(BothyError) {
    if let text = json.stringValue {
      guard let key = SortKey(key: text) else {
        throw .invalidQuery(
          "'\(text)' isn't a sort key. Write a field, with '-' before it for the largest first.")
      }
      self = key
      return
    }
    let outer = try QueryDocument(json, "A sort key", ["nearest", "farthest", "natural"])
    guard json.objectValue?.count == 1, let name = json.objectValue?.keys.first else {
      throw .invalidQuery("A sort key is a field's name, or has one of: nearest, farthest, natural.")
    }
    if name == "natural" {
      try self.init(json: .string(outer.string(name)))
      isNatural = true
      return
    }
    let document = try QueryDocument(outer[name] ?? .null, "'\(name)'", ["field", "lat", "lon"])
    let origin = Coordinate(latitude: try document.number("lat"), longitude: try document.number("lon"))
    self.init(try document.string("field"), distanceFrom: origin, ascending: name == "nearest")
  }

  fileprivate var json: JSONValue {
    guard let origin else {
      let name = JSONValue.string(ascending ? field : "-\(field)")
      return isNatural ? ["natural": name] : name
    }
    return [
      (ascending ? "nearest" : "farthest"): [
        "field": .string(field), "lat": .double(origin.latitude), "lon": .double(origin.longitude),
      ]
    ]
  }
}

/// An object of a query document whose members are all known.
package struct QueryDocument {
  private let members: [String: JSONValue]
  private let what: String

  package init(_ json: JSONValue, _ what: String, _ known: [String]) throws(BothyError) {
    guard let members = json.objectValue else { throw .invalidQuery("\(what) must be a JSON object.") }
    if let unknown = members.keys.filter({ !known.contains($0) }).min() {
      throw .invalidQuery(
        "\(what) has the unknown member '\(unknown)'. Known: \(known.joined(separator: ", ")).")
    }
    self.members = members
    self.what = what
  }

  package subscript(_ name: String) -> JSONValue? { members[name] }

  package func string(_ name: String) throws(BothyError) -> String {
    guard let text = members[name]?.stringValue else {
      throw .invalidQuery("\(what) needs '\(name)', a string.")
    }
    return text
  }

  package func number(_ name: String) throws(BothyError) -> Double {
    guard let number = members[name]?.doubleValue else {
      throw .invalidQuery("\(what) needs '\(name)', a number.")
    }
    return number
  }

  package func strings(_ name: String) throws(BothyError) -> [String]? {
    guard let value = members[name] else { return nil }
    let strings = value.arrayValue?.compactMap(\.stringValue)
    guard let strings, strings.count == value.arrayValue?.count else {
      throw .invalidQuery("The member '\(name)' of \(what.lowercased()) must be a list of strings.")
    }
    return strings
  }

  func count(_ name: String) throws(BothyError) -> Int? {
    guard let value = members[name] else { return nil }
    guard let number = value.intValue.flatMap({ Int(exactly: $0) }), number >= 0 else {
      throw .invalidQuery("The member '\(name)' of \(what.lowercased()) must be a whole number from 0.")
    }
    return number
  }
}
