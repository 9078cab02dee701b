import BothyStore
package import Foundation

/// Decodes vector tiles by a schema.
package struct VectorTileDecoder: Sendable {
  private let schema: TileSchema?

  /// Creates a decoder. Without a schema, each tile's is recognized by its layers.
  package init(schema: TileSchema? = nil) { self.schema = schema }

  package func decode(
    _ payload: Data, of tile: Tile, categories: CategoryTable
  ) throws(BothyError) -> DecodedTile {
    let content = try VectorTile(decoding: payload)
    guard let schema = schema ?? TileSchema.recognizing(content) else {
      let names = content.layers.map(\.name)
      guard names.isEmpty || names.contains(where: Self.shared.contains) else {
        // Not `.notATile`, for which a store deletes the tile.
        throw BothyError(
          .invalidCategories,
          "The vector tile has the layers \(names.prefix(10).joined(separator: ", ")), which are of no known schema. "
            + "Give a schema for it.")
      }
      // A tile of water or land alone, of whichever schema.
      return DecodedTile(features: [], problems: content.problems, format: "vector tile")
    }
    var mapping = VectorTileMapping(
      tile: tile, schema: schema, classifier: Classifier(categories: categories))
    return mapping.decode(content)
  }

  /// Layers of land and water, which several schemas have and no places come from.
  private static let shared: Set = [
    "water", "water_lines", "water_polygons_labels", "water_lines_labels", "boundary", "boundaries",
    "boundary_labels",
    "landuse", "landcover", "globallandcover", "building", "buildings", "aeroway", "park", "physical_line",
    "transit",
    "natural", "ferries", "bridges", "dam_lines", "dam_polygons", "pier_lines", "pier_polygons",
  ]
}
