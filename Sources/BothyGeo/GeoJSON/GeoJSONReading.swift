import BothyStore

/// Reads one GeoJSON object: a collection of features, one feature, or a geometry.
struct GeoJSONReading {
  private(set) var problems: [FeatureProblem] = []
  private let classifier: Classifier
  private var versions = FeatureVersions()
  /// True if no feature came from a server for pedestrians, which sends intersections itself.
  private var isPlain = true

  init(_ classifier: Classifier) { self.classifier = classifier }

  /// The features, with the intersections of the roads that plain features are.
  var features: [TileFeature] {
    let found = versions.features
    return isPlain ? found + JunctionFinder.intersections(of: found) { _ in true } : found
  }

  /// Reads the text. Throws `JSONError` or `BrokenFeature` for one that isn't GeoJSON. An object other than a collection
  /// is read twice, as its type may be its last member.
  mutating func read(_ payload: some ContiguousBytesSource) throws {
    let type = try JSONReader.read(payload) { try self.readCollection(&$0) }
    switch type {
    case "FeatureCollection": break
    case "Feature": try JSONReader.read(payload) { try self.readFeature(0, &$0) }
    default:
      let geometry = try JSONReader.read(payload) { try GeometryReader.read(&$0) }
      versions.add(try PlainFeature(id: nil, tags: Tags(), geometry: geometry).feature(classifier))
    }
  }

  /// Reads the features of a collection. Returns the type of the object, which may have none if it has features.
  private mutating func readCollection(_ reader: inout JSONReader) throws -> String {
    var index = 0
    var names: Set<String> = []
    var type = (name: "FeatureCollection", start: reader.offset)
    try reader.object { name, reader in
      names.insert(name)
      switch name {
      case "features":
        try reader.array { reader in
          try self.readFeature(index, &reader)
          index += 1
        }
      case "type":
        let start = reader.offset
        type = (try reader.string(), start)
      default: try reader.skip()
      }
    }
    let needed =
      switch type.name {
      case "FeatureCollection": "features"
      case "Feature": "geometry"
      case "GeometryCollection": "geometries"
      case "Point", "MultiPoint", "LineString", "MultiLineString", "Polygon", "MultiPolygon": "coordinates"
      default: throw JSONError(reason: "GeoJSON has no such type", offset: type.start)
      }
    guard names.contains(needed), needed == "features" || !names.contains("features") else {
      throw JSONError(reason: "'\(needed)' is missing, or the type is another", offset: type.start)
    }
    return type.name
  }

  private mutating func readFeature(_ index: Int, _ reader: inout JSONReader) throws {
    do {
      let (feature, isPlain) = try FeatureDecoder.read(&reader, classifier)
      versions.add(feature)
      if !isPlain { self.isPlain = false }
    } catch let broken as BrokenFeature {
      problems.append(FeatureProblem(index: index, reason: broken.reason))
    }
  }
}

/// Selects one of several versions of an element.
private struct FeatureVersions {
  private(set) var features: [TileFeature] = []
  private var places: [Identity: Int] = [:]

  /// The identity of an element: its id, main key and kind of extent. For an intersection, its roads and place.
  private struct Identity: Hashable {
    var ids: [Int64]
    var type: String
    var extent: Geometry.Extent
    var place: Coordinate?
  }

  /// Adds a feature. A later version replaces an earlier one.
  mutating func add(_ feature: TileFeature) {
    let isIntersection = feature.layer == .intersection
    let identity = Identity(
      ids: isIntersection ? feature.ids.sorted() : Array(feature.ids.prefix(1)), type: feature.type,
      extent: feature.geometry.extent, place: isIntersection ? feature.center : nil)
    if let place = places.updateValue(places[identity] ?? features.count, forKey: identity) {
      features[place] = feature
    } else {
      features.append(feature)
    }
  }
}
