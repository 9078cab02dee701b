import BothyCache
import BothyStore
public import Foundation

/// Reading a schema from JSON.
extension TileSchema {
  /// Reads a schema for tiles of one's own. All vector tiles of the store are then read by it.
  ///
  /// A store notes the schema with each tile, and reads tiles again when it is opened with another. Throws `BothyError`
  /// `invalidCategories` with the member that isn't as <doc:TileFormats> describes it.
  public init(json: Data) throws(BothyError) {
    do {
      let document = try JSONValue(parsing: json)
      let reader = SchemaReader(document)
      try reader.check(["name", "ids", "fields", "ignored", "layers"])
      guard let layers = document["layers"]?.arrayValue, !layers.isEmpty else {
        throw SchemaProblem("'layers' must be a list with an object for each layer")
      }
      self.init(
        try reader.text("name") ?? "", identity: Int64(bitPattern: XXH64.hash([UInt8](json)) >> 8 | 1),
        marks: [],
        ids: try reader.choice("ids", IDs.init(rawValue:)) ?? .computed,
        fields: try reader.texts("fields") ?? [:],
        ignored: Set(try reader.list("ignored") ?? []), rules: try layers.map(Self.rule))
    } catch {
      throw BothyError(.invalidCategories, "The schema of tiles can't be used: \(error).", underlying: error)
    }
  }

  private static func rule(_ json: JSONValue) throws -> Rule {
    let reader = SchemaReader(json)
    try reader.check([
      "layer", "shapes", "hasKeys", "classes", "first", "values", "key", "keys", "value", "isNamed", "covers",
    ])
    guard let layer = try reader.text("layer") else { throw SchemaProblem("each of 'layers' needs 'layer'") }
    var rule = Rule(layer: layer)
    if let shapes = try reader.list("shapes") {
      rule.shapes = Set(
        try shapes.map { name in
          guard let shape = Geometry.Extent(rawValue: name) else {
            throw SchemaProblem("'shapes' has '\(name)', which is neither point, line nor area")
          }
          return shape
        })
    }
    rule.hasKeys = try reader.flag("hasKeys") ?? false
    rule.classes = try reader.list("classes") ?? []
    rule.first = Set(try reader.list("first") ?? [])
    rule.values = try reader.texts("values")
    rule.key = try reader.text("key")
    rule.keys = try reader.texts("keys") ?? [:]
    rule.value = try reader.text("value")
    rule.isNamed = try reader.flag("isNamed") ?? false
    rule.covers = try reader.text("covers")
    return rule
  }
}

/// The reason why JSON isn't a schema, as the end of a sentence.
private struct SchemaProblem: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// Reads the members of an object, which must have the right kind if they are there.
private struct SchemaReader {
  private let json: JSONValue

  init(_ json: JSONValue) { self.json = json }

  func check(_ names: Set<String>) throws {
    guard let members = json.objectValue else { throw SchemaProblem("an object was expected") }
    if let unknown = members.keys.filter({ !names.contains($0) }).min() {
      throw SchemaProblem("'\(unknown)' isn't a member")
    }
  }

  func text(_ name: String) throws -> String? {
    guard let value = json[name] else { return nil }
    guard let text = value.stringValue else { throw SchemaProblem("'\(name)' must be a text") }
    return text
  }

  func flag(_ name: String) throws -> Bool? {
    guard let value = json[name] else { return nil }
    guard let flag = value.boolValue else { throw SchemaProblem("'\(name)' must be true or false") }
    return flag
  }

  func choice<Value>(_ name: String, _ make: (String) -> Value?) throws -> Value? {
    guard let text = try text(name) else { return nil }
    guard let value = make(text) else { throw SchemaProblem("'\(name)' can't be '\(text)'") }
    return value
  }

  func list(_ name: String) throws -> [String]? {
    guard let value = json[name] else { return nil }
    guard let texts = value.arrayValue?.map(\.stringValue), !texts.contains(nil) else {
      throw SchemaProblem("'\(name)' must be a list of texts")
    }
    return texts.compactMap { $0 }
  }

  func texts(_ name: String) throws -> [String: String]? {
    guard let value = json[name] else { return nil }
    guard let texts = value.objectValue?.mapValues(\.stringValue), !texts.values.contains(nil) else {
      throw SchemaProblem("'\(name)' must be an object of texts")
    }
    return texts.compactMapValues { $0 }
  }
}
