/// The combined features of several tiles, each element once.
///
/// A feature belongs to every tile that contains it and is deleted with the last of them. If tiles differ, the version
/// received last counts, then that of the later tile in order. Entrances of a building are combined. The result doesn't
/// depend on the order in which tiles are set.
package struct FeatureUnion: Sendable {
  private var tiles: [Tile: (receivedAt: Int64, content: GeoJSONTile)] = [:]

  /// Creates a union without tiles.
  package init() {}

  /// Adds a tile in place of its earlier content. Ignores a version that is older than the current one.
  package mutating func set(_ tile: Tile, _ content: GeoJSONTile, receivedAt: Int64) {
    if let known = tiles[tile], known.receivedAt > receivedAt { return }
    tiles[tile] = (receivedAt, content)
  }

  /// Removes a tile, with the features that no other tile contains.
  package mutating func remove(_ tile: Tile) { tiles[tile] = nil }

  /// Returns true if the union contains the tile, with or without features.
  package func holds(_ tile: Tile) -> Bool { tiles[tile] != nil }

  /// Returns the tiles that contain a feature.
  package func tiles(of key: FeatureKey) -> Set<Tile> {
    Set(tiles.filter { $0.value.content.features.contains { $0.key == key } }.keys)
  }

  /// Every feature once, by layer and id. Costs a pass over all features of all tiles.
  package var features: [FeatureKey: TileFeature] {
    let order = tiles.sorted { ($0.value.receivedAt, $0.key) < ($1.value.receivedAt, $1.key) }
    var found: [FeatureKey: TileFeature] = [:]
    for (_, version) in order {
      for feature in version.content.features { found[feature.key] = feature }
    }
    return found
  }

  /// Returns the entrances of a building in all tiles.
  package func entrances(ofBuilding id: Int64) -> Set<Int64> {
    tiles.values.reduce(into: []) { $0.formUnion($1.content.entrances(ofBuilding: id)) }
  }
}
