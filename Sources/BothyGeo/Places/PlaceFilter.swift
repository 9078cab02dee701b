public import BothyStore

/// Which features a question is about.
public struct PlaceFilter: Sendable, Hashable {
  /// The rooms of the map that features come from.
  public var layers: Set<MapFeature.Layer>
  /// Nil for all but entrances of buildings, which are asked for by name.
  public var categories: Set<PlaceCategory>?
  /// Whether features come that there is nothing to call by, such as the outline of a shed.
  public var includesUnnamed: Bool

  /// Named places other than entrances, unless told otherwise.
  public init(
    layers: Set<MapFeature.Layer> = [.poi], categories: Set<PlaceCategory>? = nil,
    includesUnnamed: Bool = false
  ) {
    self.layers = layers
    self.categories = categories
    self.includesUnnamed = includesUnnamed
  }

  /// Named places other than entrances.
  public static let places = PlaceFilter()
  /// Every feature of every layer.
  public static let everything = PlaceFilter(
    layers: Set(MapFeature.Layer.allCases), categories: Set(PlaceCategory.allCases), includesUnnamed: true)

  /// Whether a feature is asked for.
  public func admits(_ feature: MapFeature) -> Bool {
    admits(feature.layer, feature.category, isNamed: feature.isNamed)
  }

  func admits(_ layer: MapFeature.Layer, _ category: PlaceCategory, isNamed: Bool) -> Bool {
    layers.contains(layer) && (includesUnnamed || isNamed)
      && (categories.map { $0.contains(category) } ?? (category != .entrance))
  }
}

/// A feature with its distance from the position that was asked about.
public struct NearbyPlace: Sendable, Hashable {
  /// What it is, in the version of the tile that was received last.
  public let feature: MapFeature
  /// The metres to the closest point of the shape or the closest entrance, whichever is nearer; 0 within an area.
  public let distance: Double
  /// The closest entrance; nil where none is known.
  public let entrance: Coordinate?

  /// By distance, then by identity, so that an order never depends on chance.
  static func precedes(_ left: NearbyPlace, _ right: NearbyPlace) -> Bool {
    left.distance == right.distance
      ? left.feature.identity < right.feature.identity : left.distance < right.distance
  }
}

/// What makes two versions of a feature versions of one thing: besides layer and id its main key and kind of extent, as
/// a node may be mapped as a shop and, with the same id, as an entrance.
struct PlaceIdentity: Hashable, Comparable {
  var key: FeatureKey
  var type: String
  var extent: Geometry.Extent

  static func < (left: PlaceIdentity, right: PlaceIdentity) -> Bool {
    if left.key != right.key { return left.key < right.key }
    return (left.type, left.extent.rawValue) < (right.type, right.extent.rawValue)
  }
}

extension MapFeature {
  var identity: PlaceIdentity { PlaceIdentity(key: key, type: type, extent: geometry.extent) }
}
