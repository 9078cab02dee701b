public import BothyStore

/// One thing of a tile: a place, a road, a path, where roads meet, or the entrances of a building.
public struct MapFeature: Hashable, Sendable {
  /// The rooms of the map. An id may be in several of them, as a place and as a road.
  public enum Layer: String, Sendable, Hashable, CaseIterable, Codable {
    /// A place, a building, and whatever is none of the others.
    case poi
    /// A road for vehicles.
    case road
    /// A way for those who walk or ride.
    case path
    /// A place where roads meet.
    case intersection
    /// Not a thing, but which entrances a building has.
    case entranceList
  }

  /// Which room it is in.
  public let layer: Layer
  /// OpenStreetMap ids in the order of the server; nodes positive, ways negative, relations below -10^17. Of an
  /// intersection its roads, of an entrance list the building and then the entrances.
  public let ids: [Int64]
  /// The main key and value, such as `amenity` and `cafe`.
  public let type: String
  /// The value of the main key.
  public let value: String
  /// All properties as text: what came as no text as it was written, nulls left out.
  public let tags: Tags
  /// As the server has it; of a crossing drawn as a line the one point in its middle.
  public let geometry: Geometry
  /// The feature's own name, not localized.
  public let name: String?
  /// A generic name to be translated, such as `walking_path`.
  public let nameTag: String?
  /// What kind of place it is, by the table that the tile was read with.
  public let category: PlaceCategory
  /// The middle of the box around the geometry.
  public let center: Coordinate
}

extension MapFeature {
  /// Whether there is anything to call it by. What has no name is kept for its footprint and entrances.
  public var isNamed: Bool {
    name != nil || nameTag != nil || layer == .intersection || layer == .entranceList
  }

  /// The name in a language such as `zh-Hant`: in exactly this one, else in `zh`, else the feature's own name.
  public func name(in language: String) -> String? {
    var code = language[...]
    while !code.isEmpty {
      if let name = tags["name:\(code)"] { return name }
      code = code.lastIndex(where: { $0 == "-" || $0 == "_" }).map { code[..<$0] } ?? ""
    }
    return name
  }

  /// The names by language. Keys such as `name:etymology:wikidata` and `name:left` tell of other things.
  public var localizedNames: [String: String] {
    var names: [String: String] = [:]
    for (key, value) in tags {
      guard key.hasPrefix("name:") else { continue }
      let code = key.dropFirst("name:".count)
      if Self.isLanguage(code) { names[String(code)] = value }
    }
    return names
  }

  /// Two or three small letters, then parts of letters and digits after `-` or `_` (BCP 47).
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

  /// A number of a road, exit, shop or route.
  public var reference: String? { tags["ref"] }
  /// The telephone number, as it was written into the map (`phone`).
  public var phone: String? { tags["phone"] }
  /// The street of the address (`addr:street`).
  public var streetName: String? { tags["addr:street"] }
  /// Number and street, when both are known.
  public var addressLine: String? {
    guard let number = tags["addr:housenumber"], let street = streetName else { return nil }
    return "\(number) \(street)"
  }

  /// Whether it is a roundabout or another circle of roads (`junction`).
  public var isRoundabout: Bool { ["roundabout", "circular"].contains(tags["junction"]) }

  /// Of an intersection the ids of the roads that meet there, each once, in order.
  public var roads: [Int64] { layer == .intersection ? Set(ids).sorted() : [] }
  /// Of an entrance list the building.
  public var building: Int64? { layer == .entranceList ? ids.first : nil }
  /// Of an entrance list the entrances.
  public var entrances: [Int64] { layer == .entranceList ? Array(ids.dropFirst()) : [] }

  /// What makes this feature the same as one of another tile or version: see `FeatureKey`.
  public var key: FeatureKey {
    switch layer {
    case .intersection:
      FeatureKey(layer, "\(Set(ids).sorted().map(String.init).joined(separator: "_"))@\(place)")
    case .poi, .road, .path, .entranceList: FeatureKey(layer, ids.first.map(String.init) ?? "")
    }
  }

  /// Micro-degrees, which is what the server's six decimals are.
  private var place: String {
    "\(Int(clampedWhole: (center.latitude * 1e6).rounded())),\(Int(clampedWhole: (center.longitude * 1e6).rounded()))"
  }
}

/// The identity of a feature in its layer, whichever tile it comes from: the OpenStreetMap id; of an intersection, which
/// has none, the sorted ids of its roads and its place.
public struct FeatureKey: Hashable, Sendable, Comparable, CustomStringConvertible {
  /// The room that the feature is in.
  public let layer: MapFeature.Layer
  /// The id within the room, as text.
  public let id: String

  /// The key of a feature that was noted elsewhere; nothing is looked up.
  public init(_ layer: MapFeature.Layer, _ id: String) {
    self.layer = layer
    self.id = id
  }

  public static func < (left: FeatureKey, right: FeatureKey) -> Bool {
    (left.layer.rawValue, left.id) < (right.layer.rawValue, right.id)
  }

  public var description: String { "\(layer.rawValue)/\(id)" }
}
