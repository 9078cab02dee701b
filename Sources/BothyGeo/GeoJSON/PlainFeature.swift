import BothyStore

/// A feature of GeoJSON (RFC 7946) with any properties.
///
/// Properties count as tags of OpenStreetMap. The first of its main keys among them is the type, else a field that often
/// has the class. The id is that of an OpenStreetMap element if one is stated, else a number, else one is computed.
struct PlainFeature {
  var id: String?
  var tags: Tags
  var geometry: Geometry

  func feature(_ classifier: Classifier) throws -> TileFeature {
    let (key, value) = place
    var tags = tags
    if tags["name"] ?? "" == "", let name = text(of: Self.names) { tags.append("name", name) }
    return try classifier.feature(
      ids: [number(key, value, tags)], type: key, value: value, tags: tags, geometry: geometry)
  }

  /// The fields that may have the name, the best first. Case doesn't count.
  private static let names = ["name", "title", "label", "name_en", "name:en"]
  /// The fields that may have the class, the best first.
  private static let classes = ["subclass", "class", "kind", "category", "type", "fclass"]

  private var place: (key: String, value: String) {
    if let found = TileSchema.mainTag(tags) { return found }
    guard let value = text(of: Self.classes) else { return ("", "") }
    return (TileSchema.commonKeys[value] ?? "amenity", value)
  }

  private func text(of fields: [String]) -> String? {
    for field in fields {
      let found = tags.first { $0.key.lowercased() == field && !$0.value.isEmpty }
      if let found { return found.value }
    }
    return nil
  }

  private func number(_ key: String, _ value: String, _ tags: Tags) -> Int64 {
    let stated = [tags["@id"], id, tags["osm_id"], tags["id"]].compactMap { $0 }
    if let element = stated.lazy.compactMap(Self.element).first { return element }
    if let number = stated.lazy.compactMap(Int64.init).first { return number }
    let ends = [geometry.outline.first, geometry.outline.last].map(ComputedID.text)
    return ComputedID.of(
      "plain", stated.first ?? "", key, value, tags["name"] ?? "", ends[0], ends[1],
      "\(geometry.outline.count)")
  }

  /// Returns the id of texts such as `node/240109189`, as exports of OpenStreetMap have them.
  private static func element(_ text: String) -> Int64? {
    let parts = text.split(separator: "/")
    guard parts.count == 2, let number = UInt64(parts[1]) else { return nil }
    return ComputedID.Element(name: parts[0])?.id(number)
  }
}
