import BothyStore
package import Foundation

/// The features of one tile, in the form that places, searches and intersections read, whatever its format.
package struct DecodedTile: Sendable, Hashable {
  /// The features, each identity once.
  package var features: [TileFeature]
  /// The features that were left out.
  package var problems: [FeatureProblem]
  /// The format, and the schema of a vector tile, for people.
  package var format: String
}

/// A reader of one format of tiles.
package protocol TileDecoder: Sendable {
  /// Decodes the bytes of a tile, unpacked. A feature that can't be used is left out and named in `problems`.
  ///
  /// Runs on the caller's thread in time and memory linear in the number of bytes. Throws `BothyError`: `notATile` for
  /// bytes of another format, and `invalidCategories` for a vector tile that needs a schema.
  func decode(
    _ payload: Data, of tile: Tile, categories: CategoryTable
  ) throws(BothyError) -> DecodedTile
}
