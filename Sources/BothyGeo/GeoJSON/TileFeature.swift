public import BothyStore

/// A feature of a tile: a place, a road, a path, an intersection, or the entrances of a building.
///
/// A plain value of one version. Features with equal `key` are the same element of the map, possibly from other tiles
/// or another time.
public struct TileFeature: Hashable, Sendable {
  /// The layers of the map. An id may occur in several of them, for example as a place and as a road.
  public enum Layer: String, Sendable, Hashable, CaseIterable, Codable {
    /// A place, a building, or a feature of no other layer.
    ///
    /// Entrances, crossings for pedestrians and areas such as parks and water are in this layer.
    case poi
    /// A road for vehicles, from motorways to tracks, and a street for pedestrians (`highway=pedestrian`).
    case road
    /// A way for people who walk or ride: `highway` with `footway`, `path`, `cycleway` or `bridleway`.
    case path
    /// A crossing of roads. Its `ids` are those of the roads, and its category is `undefined`.
    case intersection
    /// A list of the entrances of a building, which isn't itself a place.
    ///
    /// Queries by position use it to measure distances to doors, and return it only if a filter names this layer.
    case entranceList
  }

  /// The layer of the feature, derived from its tags.
  public let layer: Layer
  /// The OpenStreetMap ids in the order of the server. Nodes are positive, ways negative, and relations below -10^17.
  ///
  /// A feature of a tile that states none has an id from 2^62 on, which is computed from the feature.
  ///
  /// An intersection has the ids of its roads. An entrance list has the id of the building, then those of the
  /// entrances.
  public let ids: [Int64]
  /// The main key, such as `amenity` for `amenity=cafe`. Empty for a feature without a known key or class.
  public let type: String
  /// The value of the main key, such as `cafe`, or an empty text.
  public let value: String
  package let tags: Tags
  /// The geometry from the server, in degrees. For a crossing drawn as a line, the point in its middle.
  ///
  /// A vector tile has a piece of a shape that reaches beyond its edges.
  public let geometry: Geometry
  /// The feature's own name, not localized, or `nil`. `name(in:)` returns the one of a language.
  ///
  /// A cash machine without a name has that of its operator, and a bank that of its operator or brand.
  public let name: String?
  /// A generic name for translation, such as `walking_path`. `nil` if none is known for the tags.
  ///
  /// It is in English with underscores, a key for an app's own texts and not a text for people.
  public let nameTag: String?
  /// The category, according to the table with which the tile was read.
  ///
  /// A `PlaceStore` with another table computes it again from the stored tile.
  public let category: PlaceCategory
  /// The middle of the box around the geometry. For an area, it may be outside of the shape.
  public let center: Coordinate
  /// The tile whose edges cut the shape, or `nil` for a whole one. Other tiles may have further pieces.
  package internal(set) var cutBy: Tile?
}

extension TileFeature {
  /// True if the feature has a name of any kind. Unnamed features are stored for their footprint and entrances.
  package var isNamed: Bool {
    name != nil || nameTag != nil || layer == .intersection || layer == .entranceList
  }

  /// Returns the property of a key, as text, or `nil`. Searches linearly, as features have few.
  ///
  /// A value that isn't a text is returned as it is written in the tile, such as `true` or `3`.
  public func tag(_ key: String) -> String? { tags[key] }

  /// All properties as text, without nulls. Other values are as written. Creates the dictionary each time.
  package var allTags: [String: String] { Dictionary(uniqueKeysWithValues: tags.map { ($0.key, $0.value) }) }

  /// Returns the name in exactly this language, such as `zh-Hant`, else in `zh`, else the feature's own name.
  ///
  /// Takes a code of BCP 47 with `-` or `_`. Each attempt is a linear search of the tags. `nil` if the feature has no
  /// name.
  public func name(in language: String) -> String? {
    var code = language[...]
    while !code.isEmpty {
      if let name = tags["name:\(code)"] { return name }
      code = code.lastIndex(where: { $0 == "-" || $0 == "_" }).map { code[..<$0] } ?? ""
    }
    return name
  }

  /// The names by language. Ignores keys such as `name:etymology:wikidata` and `name:left`, which have other meanings.
  package var localizedNames: [String: String] {
    var names: [String: String] = [:]
    for (key, value) in tags {
      guard key.hasPrefix("name:") else { continue }
      let code = key.dropFirst("name:".count)
      if Self.isLanguage(code) { names[String(code)] = value }
    }
    return names
  }

  /// Returns true for two or three small letters, then parts of letters and digits after `-` or `_` (BCP 47).
  private static func isLanguage(_ code: Substring) -> Bool {
    let parts = code.utf8.split(omittingEmptySubsequences: false) {
      $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
    }
    guard let first = parts.first, (2...3).contains(first.count) else { return false }
    let isLetter = { (byte: UInt8) in (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) }
    let isDigit = { (byte: UInt8) in (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    return first.allSatisfy { $0 >= UInt8(ascii: "a") && isLetter($0) }
      && parts.dropFirst().allSatisfy { part in
        (1...8).contains(part.count) && part.allSatisfy { isLetter($0) || isDigit($0) }
      }
  }

  /// The number of a road, exit, shop or route (`ref`).
  package var reference: String? { tags["ref"] }
  /// The telephone number, as written in the map (`phone`).
  package var phone: String? { tags["phone"] }
  /// The street of the address (`addr:street`).
  package var streetName: String? { tags["addr:street"] }
  /// The number and street, or `nil` if one of them isn't known.
  package var addressLine: String? {
    guard let number = tags["addr:housenumber"], let street = streetName else { return nil }
    return "\(number) \(street)"
  }

  /// True if the feature is a roundabout or another circle of roads (`junction`).
  package var isRoundabout: Bool { ["roundabout", "circular"].contains(tags["junction"]) }

  /// The ids of the roads of an intersection, each once, in order.
  package var roads: [Int64] { layer == .intersection ? Set(ids).sorted() : [] }
  /// The building of an entrance list.
  package var building: Int64? { layer == .entranceList ? ids.first : nil }
  /// The entrances of an entrance list.
  package var entrances: [Int64] { layer == .entranceList ? Array(ids.dropFirst()) : [] }

  /// The key that this feature shares with its versions in other tiles, see `FeatureKey`.
  ///
  /// Creates a text at each call. For an intersection, it also sorts the ids of the roads.
  public var key: FeatureKey {
    switch layer {
    case .intersection:
      FeatureKey(layer, "\(Set(ids).sorted().map(String.init).joined(separator: "_"))@\(place)")
    case .poi, .road, .path, .entranceList:
      FeatureKey(layer, (ids.first.map(String.init) ?? "") + (cutBy.map { "\(FeatureKey.cut)\($0)" } ?? ""))
    }
  }

  /// The position in micro-degrees, the precision of the server's six decimals.
  private var place: String {
    "\(Int(clampedWhole: (center.latitude * 1e6).rounded())),\(Int(clampedWhole: (center.longitude * 1e6).rounded()))"
  }
}
