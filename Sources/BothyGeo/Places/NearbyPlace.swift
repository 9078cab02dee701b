import BothyStore

/// A feature with its distance from the position of the query.
///
/// A plain value, which stays valid when its tile is replaced or deleted.
public struct NearbyPlace: Sendable, Hashable {
  /// The feature, in the version of the tile that was received last.
  ///
  /// Of a shape that vector tiles cut, it is the nearest piece.
  public let feature: TileFeature
  /// The metres to the closest point of the shape or the closest entrance, whichever is nearer; 0 within an area.
  public let distance: Double
  /// The closest entrance, or `nil` if none is known. Only buildings that are drawn as an area have entrances.
  public let entrance: Coordinate?

  /// Orders by distance, then by identity, so that the order is deterministic.
  static func precedes(_ left: NearbyPlace, _ right: NearbyPlace) -> Bool {
    left.distance == right.distance
      ? left.feature.identity < right.feature.identity : left.distance < right.distance
  }
}
