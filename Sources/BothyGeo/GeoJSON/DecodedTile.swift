import BothyStore

/// The features of one tile, in the form that places, searches and intersections read, whatever its format.
package struct DecodedTile: Sendable, Hashable {
  /// The features, each identity once.
  package var features: [TileFeature]
  /// The features that were left out.
  package var problems: [FeatureProblem]
  /// The format, and the schema of a vector tile, for people.
  package var format: String
}
