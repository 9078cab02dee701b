/// The features of several tiles together, each element once.
///
/// A feature belongs to every tile that holds it and goes with the last of them. Where tiles differ, the version of the
/// one received last counts, then the one further in the order of tiles; entrances of a building add up. The result is
/// the same in whatever order tiles are set.
public struct FeatureUnion: Sendable {
  private var tiles: [Tile: (receivedAt: Int64, content: GeoJSONTile)] = [:]

  /// No tile and no feature.
  public init() {}

  /// Takes in a tile, in place of what it held before. An older version than the one held is not taken.
  public mutating func set(_ tile: Tile, _ content: GeoJSONTile, receivedAt: Int64) {
    if let known = tiles[tile], known.receivedAt > receivedAt { return }
    tiles[tile] = (receivedAt, content)
  }

  /// Takes a tile away, with the features that no other tile holds.
  public mutating func remove(_ tile: Tile) { tiles[tile] = nil }

  /// Whether the tile is there, with or without features.
  public func holds(_ tile: Tile) -> Bool { tiles[tile] != nil }

  /// The tiles that hold a feature.
  public func tiles(of key: FeatureKey) -> Set<Tile> {
    Set(tiles.filter { $0.value.content.features.contains { $0.key == key } }.keys)
  }

  /// Every feature once, by layer and id. Costs a pass over all features of all tiles.
  public var features: [FeatureKey: MapFeature] {
    let order = tiles.sorted { ($0.value.receivedAt, $0.key) < ($1.value.receivedAt, $1.key) }
    var found: [FeatureKey: MapFeature] = [:]
    for (_, version) in order {
      for feature in version.content.features { found[feature.key] = feature }
    }
    return found
  }

  /// The entrances of a building in all tiles together.
  public func entrances(ofBuilding id: Int64) -> Set<Int64> {
    tiles.values.reduce(into: []) { $0.formUnion($1.content.entrances(ofBuilding: id)) }
  }
}
