import BothyStore

/// Reads one feature of a tile.
enum FeatureDecoder {
  /// Reads a feature. True beside it means that it is plain, with no member of a server for pedestrians.
  ///
  /// Throws `BrokenFeature`, with the reader after the feature, or `JSONError` if the text isn't JSON.
  static func read(
    _ reader: inout JSONReader, _ classifier: Classifier
  ) throws -> (feature: TileFeature, isPlain: Bool) {
    var attempt = reader
    do {
      let fields = try fields(&attempt)
      let feature = try fields.feature(classifier)
      reader = attempt
      return (feature, !fields.isOfServer)
    } catch let broken as BrokenFeature {
      try reader.skip()
      throw broken
    } catch let error as JSONError {
      // Either a value has an unexpected kind, which loses the feature, or the text isn't JSON, which `skip` detects
      // too.
      try reader.skip()
      throw BrokenFeature(reason: error.reason)
    }
  }

  private struct Fields {
    var ids: [Int64] = []
    var type = ""
    var value = ""
    var tags = Tags()
    /// The properties after the first ones, which are sorted at once.
    var moreTags: [(key: String, value: String)] = []
    var geometry: Geometry?
    /// The `id` of RFC 7946, as text.
    var plainID: String?
    /// True if the feature has a member of the tile server for pedestrians.
    var isOfServer = false

    mutating func add(_ key: String, _ value: String) {
      if tags.count < 64 { tags.append(key, value) } else { moreTags.append((key, value)) }
    }

    private var allTags: Tags { moreTags.isEmpty ? tags : Tags(Array(tags) + moreTags) }

    func feature(_ classifier: Classifier) throws -> TileFeature {
      guard isOfServer else {
        guard let geometry else { throw BrokenFeature(reason: "it has no geometry") }
        return try PlainFeature(id: plainID, tags: allTags, geometry: geometry).feature(classifier)
      }
      guard !ids.isEmpty else { throw BrokenFeature(reason: "it has no osm_ids") }
      guard let geometry else { throw BrokenFeature(reason: "it has no geometry") }
      return try classifier.feature(
        ids: ids, type: type, value: value, tags: allTags, geometry: geometry)
    }
  }

  private static func fields(_ reader: inout JSONReader) throws -> Fields {
    var fields = Fields()
    try reader.object { name, reader in
      switch name {
      case "osm_ids":
        fields.isOfServer = true
        try reader.array { fields.ids.append(try $0.exactInt()) }
      case "feature_type":
        fields.isOfServer = true
        fields.type = try text(&reader)
      case "feature_value":
        fields.isOfServer = true
        fields.value = try text(&reader)
      case "id": fields.plainID = try property(&reader)
      case "properties":
        guard try !reader.nextIsNull() else { return }
        try reader.object { key, reader in
          if let value = try property(&reader) { fields.add(key, value) }
        }
      case "geometry":
        fields.geometry = try reader.nextIsNull() ? nil : try GeometryReader.read(&reader)
      default: try reader.skip()
      }
    }
    return fields
  }

  private static func text(_ reader: inout JSONReader) throws -> String {
    try reader.nextIsNull() ? "" : reader.string()
  }

  /// Reads a property as text. Other values are returned as written, and null as `nil`.
  private static func property(_ reader: inout JSONReader) throws -> String? {
    switch try reader.peek() {
    case .string: return try reader.string()
    case .null:
      _ = try reader.nextIsNull()
      return nil
    case .bool, .number, .object, .array: return String(decoding: try reader.rawValue(), as: UTF8.self)
    }
  }
}
