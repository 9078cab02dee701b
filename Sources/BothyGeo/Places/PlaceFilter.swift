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
