public import BothyStore

public import struct Foundation.Data

/// The features of one tile in GeoJSON, in the format of a tile server for pedestrians.
///
/// Besides the members of RFC 7946, each feature has `feature_type`, `feature_value` and `osm_ids`.
public struct GeoJSONTile: Sendable, Hashable {
  /// The features in the order of the document, each identity once. If an element has several versions, the last
  /// counts.
  public private(set) var features: [TileFeature] = []
  /// The features that were left out.
  package private(set) var problems: [FeatureProblem] = []

  /// Decodes the bytes of a tile. An error in a feature omits only that feature and is reported in `problems`.
  ///
  /// Runs on the caller's thread in linear time, at about 40 MB a second on one core of a small server. Throws
  /// `BothyError` `.notATile` for bytes that aren't JSON or aren't a collection of features.
  public init(decoding payload: Data, categories: CategoryTable = .common) throws(BothyError) {
    self = try Self.read(payload, categories)
  }

  private static func read(
    _ payload: some ContiguousBytesSource, _ categories: CategoryTable
  ) throws(BothyError) -> GeoJSONTile { try GeoJSONTile(decoding: payload, categories: categories) }

  /// Like `init(decoding:categories:)` of `Data`, but for any bytes.
  package init(
    decoding payload: some ContiguousBytesSource, categories: CategoryTable = .common
  ) throws(BothyError) {
    let classifier = Classifier(categories: categories)
    var versions = FeatureVersions()
    var problems: [FeatureProblem] = []
    do {
      try JSONReader.read(payload) { reader in
        try Self.readCollection(&reader) { index, reader in
          do {
            versions.add(try FeatureDecoder.read(&reader, classifier))
          } catch let broken as BrokenFeature {
            problems.append(FeatureProblem(index: index, reason: broken.reason))
          }
        }
      }
    } catch {
      throw BothyError(.notATile, "The bytes aren't a tile of GeoJSON features. \(error)", underlying: error)
    }
    features = versions.features
    self.problems = problems
  }

  private static func readCollection(
    _ reader: inout JSONReader, _ feature: (Int, inout JSONReader) throws -> Void
  ) throws {
    var index = 0
    var hasFeatures = false
    try reader.object { name, reader in
      switch name {
      case "features":
        hasFeatures = true
        try reader.array { reader in
          try feature(index, &reader)
          index += 1
        }
      case "type":
        let start = reader.offset
        guard try reader.string() == "FeatureCollection" else {
          throw JSONError(reason: "the type must be FeatureCollection", offset: start)
        }
      default: try reader.skip()
      }
    }
    guard hasFeatures else { throw JSONError(reason: "'features' is missing", offset: reader.offset) }
  }

  /// Returns the features of a layer. Unnamed features are included only if requested.
  package func features(in layer: TileFeature.Layer, includeUnnamed: Bool = false) -> [TileFeature] {
    features.filter { $0.layer == layer && (includeUnnamed || $0.isNamed) }
  }

  /// Returns the entrances of a building, named or not.
  package func entrances(ofBuilding id: Int64) -> Set<Int64> {
    features.reduce(into: []) { found, feature in
      if feature.building == id { found.formUnion(feature.entrances) }
    }
  }
}

/// A feature that was left out of its tile.
package struct FeatureProblem: Sendable, Hashable, CustomStringConvertible {
  /// The index of the feature in the document, from 0.
  package var index: Int
  /// The reason, as the end of a sentence.
  package var reason: String

  package var description: String { "Feature \(index + 1) was left out: \(reason)." }
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
