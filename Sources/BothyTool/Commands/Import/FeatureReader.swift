import BothyStore

/// Reads records from GeoJSON features (RFC 7946).
struct FeatureReader {
  let records: RecordReader

  /// Returns the features of a document: a collection, or one feature. Throws `ToolError` for another document.
  static func features(of bytes: [UInt8]) throws -> [JSONValue] {
    let document: JSONValue
    // A byte order mark may come before the text.
    do { document = try JSONValue(parsing: Array(bytes.afterByteOrderMark())) } catch {
      throw ToolError("The file is not JSON. \(error)")
    }
    if let features = document["features"]?.arrayValue { return features }
    guard document["type"]?.stringValue == "Feature" else {
      throw ToolError("The file isn't GeoJSON: it needs 'features', a list. See RFC 7946.")
    }
    return [document]
  }

  func records(_ features: [JSONValue]) -> [() throws -> AnyRecord] {
    features.enumerated().map { index, feature in
      { try Located.at("Feature \(index + 1)") { try record(feature) } }
    }
  }

  /// Returns the record of one feature. Each field of the type has the feature's value of that name.
  func record(_ feature: JSONValue) throws -> AnyRecord {
    let type = records.type
    let id = Self.id(of: feature)
    var record = AnyRecord(type.name, id: id ?? UUIDv7.make(), container: records.container)
    for field in type.fields {
      if let json = Self.value(of: field, in: feature), !json.isNull {
        record[field.name] = try records.value(json, of: field.name)
      }
    }
    return record
  }

  private static func value(of field: FieldSchema, in feature: JSONValue) -> JSONValue? {
    if field.kind == .coordinate { return feature["geometry"].flatMap(middle) }
    return feature[field.name] ?? feature["properties"]?[field.name]
  }

  /// Returns `id`, else the OpenStreetMap ids joined, or `nil` if the feature has neither.
  private static func id(of feature: JSONValue) -> String? {
    let parts = feature["id"].map { [$0] } ?? feature["osm_ids"]?.arrayValue ?? []
    let texts = parts.compactMap { $0.stringValue ?? $0.intValue.map(String.init) }
    return texts.isEmpty ? nil : texts.joined(separator: "_")
  }

  /// Returns the middle of the box around all positions of a geometry.
  private static func middle(of geometry: JSONValue) -> JSONValue? {
    var box: (west: Double, south: Double, east: Double, north: Double)?
    func visit(_ value: JSONValue) {
      guard let elements = value.arrayValue else { return }
      guard elements.count >= 2, let longitude = elements[0].doubleValue,
        let latitude = elements[1].doubleValue
      else { return elements.forEach(visit) }
      let old = box ?? (longitude, latitude, longitude, latitude)
      box = (
        min(old.west, longitude), min(old.south, latitude), max(old.east, longitude), max(old.north, latitude)
      )
    }
    if let coordinates = geometry["coordinates"] { visit(coordinates) }
    for part in geometry["geometries"]?.arrayValue ?? [] { part["coordinates"].map(visit) }
    return box.map { ["lat": .double(($0.south + $0.north) / 2), "lon": .double(($0.west + $0.east) / 2)] }
  }
}
