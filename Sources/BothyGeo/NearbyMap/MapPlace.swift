import BothyStore

/// A place of the map, or a saved one. In a snapshot, a marker or the destination replaces its place of the map.
public enum MapPlace: Sendable, Hashable {
  /// A marker, the destination or a saved location, with the person's name for it.
  case saved(SavedPlace)
  /// A place of the map. In a snapshot, it has a name or at least a generic one, and isn't an entrance.
  case feature(TileFeature)

  /// The key of the place of the map, or `nil` for a saved position without a place.
  package var key: FeatureKey? {
    switch self {
    case .saved(let place): place.feature
    case .feature(let feature): feature.key
    }
  }

  /// The name that the person chose, or that of the map. `nil` if the map has only a generic name (`nameTag`).
  public var name: String? {
    switch self {
    case .saved(let place): place.name
    case .feature(let feature): feature.name
    }
  }

  /// The saved position, or the middle of the box around the feature, in degrees.
  public var center: Coordinate {
    switch self {
    case .saved(let place): place.position
    case .feature(let feature): feature.center
    }
  }

  static func firstOfEach(_ entries: [MapPlace]) -> [MapPlace] {
    var seen: Set<FeatureKey> = []
    return entries.filter { entry in entry.key.map { seen.insert($0).inserted } ?? true }
  }
}
