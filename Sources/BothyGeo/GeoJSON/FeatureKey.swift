/// The identity of a feature in its layer, independent of the tile.
///
/// It is the OpenStreetMap id, or another one from the tile. An intersection has no such id and uses the sorted ids of
/// its roads and its position. A shape that the edges of a vector tile cut has the id, `@` and the tile.
public struct FeatureKey: Hashable, Sendable, Comparable, CustomStringConvertible {
  /// The layer of the feature. An id alone may occur in several layers.
  public let layer: TileFeature.Layer
  /// The id within the layer, as text, for example the decimal number of `TileFeature.ids`.
  public let id: String

  /// The text between the id of a cut feature and its tile.
  static let cut = "@"
  /// The text that is next to `cut` in order.
  static let afterCut = "A"

  /// Creates the key of a feature from its parts, without a look-up.
  ///
  /// ```swift
  /// let found = try places.features(FeatureKey(.poi, "240109189"))
  /// ```
  public init(_ layer: TileFeature.Layer, _ id: String) {
    self.layer = layer
    self.id = id
  }

  /// Orders by the name of the layer, then by the id as text.
  public static func < (left: FeatureKey, right: FeatureKey) -> Bool {
    (left.layer.rawValue, left.id) < (right.layer.rawValue, right.id)
  }

  /// The text `layer/id`, such as `poi/240109189`.
  public var description: String { "\(layer.rawValue)/\(id)" }
}
