public import BothyStore

/// A selection of features by layer, category and name.
///
/// ```swift
/// let stops = PlaceFilter(categories: [.mobility])
/// let near = try places.within(radius: 300, of: position, stops)
/// ```
public struct PlaceFilter: Sendable, Hashable {
  /// The layers that features come from.
  package var layers: Set<TileFeature.Layer>
  /// The categories, or `nil` for all but entrances of buildings, which must be named.
  package var categories: Set<PlaceCategory>?
  /// True if features without any name are included, such as the outline of a shed.
  package var includesUnnamed: Bool

  /// Creates a filter, by default for named places other than entrances.
  ///
  /// - Parameters:
  ///   - layers: the layers that features come from.
  ///   - categories: the categories, or `nil` for all but entrances of buildings, which must be named.
  ///   - includesUnnamed: true if features without any name are included, such as the outline of a shed.
  public init(
    layers: Set<TileFeature.Layer> = [.poi], categories: Set<PlaceCategory>? = nil,
    includesUnnamed: Bool = false
  ) {
    self.layers = layers
    self.categories = categories
    self.includesUnnamed = includesUnnamed
  }

  /// A filter for named places other than entrances, the default of most queries.
  ///
  /// A generic name counts, such as that of a bench.
  public static let places = PlaceFilter()
  /// A filter for every feature of every layer, also without a name: roads, paths, intersections and lists of
  /// entrances.
  public static let everything = PlaceFilter(
    layers: Set(TileFeature.Layer.allCases), categories: Set(PlaceCategory.allCases), includesUnnamed: true)

  /// Returns true if the filter accepts a feature.
  package func admits(_ feature: TileFeature) -> Bool {
    admits(feature.layer, feature.category, isNamed: feature.isNamed)
  }

  func admits(_ layer: TileFeature.Layer, _ category: PlaceCategory, isNamed: Bool) -> Bool {
    layers.contains(layer) && (includesUnnamed || isNamed)
      && (categories.map { $0.contains(category) } ?? (category != .entrance))
  }
}

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

/// The identity that versions of one feature share.
///
/// Besides layer and id, it has the main key and the kind of extent, as one node may be both a shop and an entrance.
struct PlaceIdentity: Hashable, Comparable {
  var key: FeatureKey
  var type: String
  var extent: Geometry.Extent

  static func < (left: PlaceIdentity, right: PlaceIdentity) -> Bool {
    if left.key != right.key { return left.key < right.key }
    return (left.type, left.extent.rawValue) < (right.type, right.extent.rawValue)
  }
}

extension TileFeature {
  var identity: PlaceIdentity { PlaceIdentity(key: key, type: type, extent: geometry.extent) }
}
