public import BothyStore

public import struct Foundation.Data

extension TileFeature {
  /// Returns the features of GeoJSON (RFC 7946), with any properties, as a `PlaceStore` reads them. Features that can't be
  /// used are left out.
  ///
  /// The bytes are JSON, not packed: a collection of features, one feature or a geometry. Runs on the caller's thread
  /// in linear time, at about 40 MB a second on one core of a small server.
  ///
  /// ```swift
  /// let huts = try TileFeature.decode(geoJSON: Data(contentsOf: folder.appending(path: "huts.geojson")))
  /// show("\(huts.count) huts")
  /// ```
  ///
  /// - Throws: `BothyError` `notATile` for bytes that aren't JSON or aren't a GeoJSON object.
  public static func decode(
    geoJSON payload: Data, categories: CategoryTable = .common
  ) throws(BothyError) -> [TileFeature] {
    try GeoJSONTile(decoding: payload, categories: categories).features
  }
}

/// The features of one tile in GeoJSON (RFC 7946), with any properties.
///
/// Features of a tile server for pedestrians have `feature_type`, `feature_value` and `osm_ids` besides the members of the
/// RFC. What others are, is found in their properties: see <doc:TileFormats>.
package struct GeoJSONTile: Sendable, Hashable {
  /// The features in the order of the document, each identity once. If an element has several versions, the last
  /// counts.
  ///
  /// Intersections that were computed from the roads come last. A tile server for pedestrians sends them itself.
  package private(set) var features: [TileFeature] = []
  /// The features that were left out.
  package private(set) var problems: [FeatureProblem] = []

  /// Decodes the bytes of a tile. An error in a feature omits only that feature and is reported in `problems`.
  ///
  /// The bytes are JSON, not packed: a collection of features, one feature or a geometry. Throws `BothyError` `notATile`
  /// for bytes that aren't JSON or aren't a GeoJSON object.
  package init(
    decoding payload: some ContiguousBytesSource, categories: CategoryTable = .common
  ) throws(BothyError) {
    var reading = GeoJSONReading(Classifier(categories: categories))
    do {
      // The mark that a text may begin with is skipped.
      if payload.withContiguousBytes({ $0.hasByteOrderMark }) {
        try reading.read(payload.withContiguousBytes { Array($0.afterByteOrderMark()) })
      } else {
        try reading.read(payload)
      }
    } catch {
      let reason = (error as? BrokenFeature)?.reason ?? "\(error)"
      throw BothyError(
        .notATile, "Taken for GeoJSON, the bytes aren't a tile of its features. \(reason)", underlying: error)
    }
    features = reading.features
    problems = reading.problems
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
