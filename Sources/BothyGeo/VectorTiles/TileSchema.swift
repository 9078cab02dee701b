import BothyCache
import BothyStore

/// The meaning of a vector tile's layers and fields: rules that give features an OpenStreetMap key and value.
///
/// OpenMapTiles, Shortbread, Protomaps and Soundscape are known, and recognized by their layers. Other tiles need a schema
/// in JSON, which <doc:TileFormats> describes:
///
/// ```swift
/// let document = try Data(contentsOf: folder.appending(path: "tiles.json"))
/// let places = try PlaceStore(path: path, schema: TileSchema(json: document))
/// ```
public struct TileSchema: Sendable {
  /// The name, for people.
  package let name: String
  /// A number that differs between schemas in JSON, and 0 for known ones. Tiles of another are decoded again.
  let identity: Int64
  /// The layers by which tiles are recognized, one of which is enough.
  let marks: [Mark]
  let ids: IDs
  /// The keys that fields get, such as `name:en` for `name_en`.
  let fields: [String: String]
  /// The fields that are left out.
  let ignored: Set<String>
  let rules: [Rule]

  /// A layer that only tiles of the schema have, if `key` is set together with this key.
  struct Mark: Sendable {
    var layer: String
    var key: String?

    init(_ layer: String, key: String? = nil) {
      self.layer = layer
      self.key = key
    }
  }

  /// The meaning of the ids of features.
  enum IDs: String, Sendable {
    /// None that is known. Ids are computed from the feature.
    case computed
    /// OpenStreetMap ids times ten, plus 1 for a node, 2 for a way and 3 for a relation, as Planetiler writes them.
    case planetiler
    /// OpenStreetMap ids, with the kind of element from bit 44 on, as Protomaps writes them.
    case protomaps
  }

  /// The meaning of one layer.
  struct Rule: Sendable {
    var layer: String
    /// The shapes that count, or all.
    var shapes: Set<Geometry.Extent> = [.point, .line, .area]
    /// True if OpenStreetMap keys among the fields count first.
    var hasKeys = false
    /// The fields that may have the value, the best first.
    var classes: [String] = []
    /// The values that count before all others, in whichever field they are.
    var first: Set<String> = []
    /// The values that count, and their names in OpenStreetMap. Features with none of them are left out. If it is `nil`,
    /// all count.
    var values: [String: String]?
    /// The key of all features, or `nil` to find one by the values.
    var key: String?
    /// The keys of values, before those that are commonly known.
    var keys: [String: String] = [:]
    /// The value of features without one, or `nil` to leave them out.
    var value: String?
    /// True if features without a name are left out.
    var isNamed = false
    /// The layer whose lines are left out where this layer draws the same, because it has names and the other has not.
    var covers: String?
  }

  init(
    _ name: String, identity: Int64 = 0, marks: [Mark], ids: IDs = .computed, fields: [String: String] = [:],
    ignored: Set<String> = [], rules: [Rule]
  ) {
    self.name = name
    self.identity = identity
    self.marks = marks
    self.ids = ids
    self.fields = fields
    self.ignored = ignored
    self.rules = rules
  }

  /// Returns the first of the known schemas that recognizes a tile, or `nil`.
  static func recognizing(_ tile: VectorTile) -> TileSchema? {
    known.first { schema in
      schema.marks.contains { mark in
        tile.layers.contains { $0.name == mark.layer && (mark.key.map($0.hasKey) ?? true) }
      }
    }
  }

  /// Returns the key and value of a feature with these properties, or `nil` if the rule leaves it out.
  static func place(
    _ properties: [(key: String, value: String)], _ rule: Rule
  ) -> (key: String, value: String)? {
    if rule.hasKeys, let found = mainTag(properties) { return found }
    let texts = rule.classes.compactMap { field in properties.last { $0.key == field }?.value }
      .filter { !$0.isEmpty }
    let ordered = texts.filter(rule.first.contains) + texts
    if let values = rule.values {
      guard let value = ordered.lazy.compactMap({ values[$0] }).first else { return nil }
      return (rule.key ?? key(of: [value] + ordered, rule), value)
    }
    guard let value = ordered.first ?? rule.value else { return nil }
    return (rule.key ?? key(of: ordered, rule), value)
  }

  private static func key(of values: [String], _ rule: Rule) -> String {
    values.lazy.compactMap { rule.keys[$0] ?? commonKeys[$0] }.first ?? "amenity"
  }

  /// Returns the property whose key ranks first among OpenStreetMap's main keys.
  static func mainTag(
    _ properties: some Sequence<(key: String, value: String)>
  ) -> (key: String, value: String)? {
    var best: (rank: Int, key: String, value: String)?
    for (key, value) in properties {
      guard let rank = mainRanks[key], !value.isEmpty, value != "no", value != "false" else { continue }
      if best.map({ rank < $0.rank }) ?? true { best = (rank, key, value) }
    }
    return best.map { ($0.key, $0.value == "true" ? "yes" : $0.value) }
  }

  private static let mainRanks = Dictionary(
    uniqueKeysWithValues: mainKeys.enumerated().map { ($0.element, $0.offset) })

  /// The keys that say what a feature is. Of several, the first counts.
  static let mainKeys = [
    "amenity", "shop", "tourism", "leisure", "historic", "office", "healthcare", "craft", "emergency",
    "highway",
    "public_transport", "railway", "aeroway", "aerialway", "man_made", "barrier", "waterway", "natural",
    "place",
    "landuse", "power", "military", "boundary", "building", "entrance", "route",
  ]
}
