import BothyStore

/// Determines the layer, category and name of a feature. The first matching rule wins. No rule depends on the order of
/// tags.
struct Classifier {
  let categories: CategoryTable

  /// Returns a feature from its decoded parts. Throws `BrokenFeature` for an entrance list without entrances.
  func feature(
    ids: [Int64], type: String, value: String, tags: Tags, geometry: Geometry
  ) throws(BrokenFeature) -> TileFeature {
    let isSynthetic = value == "gd_intersection" || type == "gd_entrance_list"
    let nameTag = isSynthetic ? nil : NameTags.tag(of: tags, type: type)
    let isCrossing = !isSynthetic && (nameTag == "crossing" || tags["footway"] == "crossing")
    let shape = isCrossing ? Self.point(ofCrossing: geometry) : geometry
    let (layer, category) = place(type, value, tags, isCrossing: isCrossing)
    if layer == .entranceList, ids.count < 2 {
      throw BrokenFeature(reason: "it lists no entrances")
    }
    guard let center = shape.center else { throw BrokenFeature(reason: "its geometry has no positions") }
    return TileFeature(
      layer: layer, ids: ids, type: type, value: value, tags: tags, geometry: shape,
      name: isSynthetic ? nil : Self.name(value, tags), nameTag: nameTag, category: category, center: center)
  }

  private func place(
    _ type: String, _ value: String, _ tags: Tags, isCrossing: Bool
  ) -> (TileFeature.Layer, PlaceCategory) {
    if tags["indoormark"] == "beacon" { return (.poi, .beacon) }
    if isCrossing { return (.poi, .mobility) }
    if tags["entrance"] != nil { return (.poi, .entrance) }
    if value == "gd_intersection" { return (.intersection, .undefined) }
    if type == "gd_entrance_list" { return (.entranceList, .undefined) }
    switch value {
    case "bus_stop", "atm": return (.poi, .mobility)
    case "bank": return (.poi, .place)
    default: break
    }
    if type == "highway" {
      if Self.roads.contains(value) { return (.road, .undefined) }
      if Self.paths.contains(value) { return (.path, .undefined) }
    }
    return (.poi, category(type, tags))
  }

  /// Returns the most important category that lists a key or a value.
  ///
  /// Free text is ignored, as a town may be called "fort". Accessories such as `bench=yes` of a picnic table are
  /// ignored too.
  private func category(_ type: String, _ tags: Tags) -> PlaceCategory {
    var found: CategoryTable.Mask = []
    for (key, value) in tags where !Self.isText(key) {
      if value == "no" || value == "false" { continue }
      if value == "yes" || value == "true", key != type { continue }
      found.formUnion(categories.mask(key))
      found.formUnion(categories.mask(value))
    }
    return found.category ?? .undefined
  }

  private static func isText(_ key: String) -> Bool {
    texts.contains(key) || key.hasPrefix("name:") || key.hasPrefix("name_") || key.hasPrefix("addr:")
      || key.hasSuffix("_name")
      || key.hasPrefix("contact:") || key.hasSuffix(":wikidata") || key.hasSuffix(":wikipedia")
      || key.hasPrefix("operator:") || key.hasPrefix("brand:") || key.hasPrefix("note:")
  }

  private static let texts: Set = [
    "name", "operator", "brand", "network", "owner", "description", "note", "fixme", "inscription", "website",
    "url",
    "email", "phone", "fax", "ref", "wikidata", "wikipedia", "image", "opening_hours", "artist",
    "designation",
  ]

  private static let roads: Set = [
    "residential", "service", "track", "unclassified", "tertiary", "secondary", "primary", "turning_circle",
    "living_street", "trunk", "motorway", "motorway_link", "pedestrian",
  ]

  private static let paths: Set = ["footway", "path", "cycleway", "bridleway"]

  /// Returns the name. Uses the operator of a cash machine without a name, and the operator or brand of a bank.
  private static func name(_ value: String, _ tags: Tags) -> String? {
    if let name = tags["name"], !name.isEmpty { return name }
    let stands: [String] = value == "atm" ? ["operator"] : value == "bank" ? ["operator", "brand"] : []
    return stands.lazy.compactMap { tags[$0] }.first { !$0.isEmpty }
  }

  /// Returns the center of a crossing that is drawn as a line. It is the middle vertex, or the midpoint of the great
  /// circle between the two middle vertices.
  private static func point(ofCrossing geometry: Geometry) -> Geometry {
    guard case .lineString(let line) = geometry, !line.isEmpty else { return geometry }
    let middle = line.count / 2
    return .point(line.count % 2 == 1 ? line[middle] : Geodesy.midpoint(line[middle - 1], line[middle]))
  }
}
