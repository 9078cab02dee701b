import BothyGeo
import BothyStore

/// Writes small tiles by hand.
enum TileDocument {
  static func tile(_ features: String...) -> String { tile(features) }

  static func tile(_ features: [String]) -> String {
    #"{"features": [\#(features.joined(separator: ", "))], "type": "FeatureCollection"}"#
  }

  static func feature(
    _ type: String, _ value: String, ids: String = "[1]", geometry: String? = nil, properties: String = "{}"
  ) -> String {
    let geometry = geometry ?? #"{"coordinates": [-80.52, 43.462], "type": "Point"}"#
    return
      #"{"feature_type": "\#(type)", "feature_value": "\#(value)", "geometry": \#(geometry), "osm_ids": \#(ids), "#
      + #""properties": \#(properties), "type": "Feature"}"#
  }

  static func shape(_ type: String, _ coordinates: String) -> String {
    #"{"coordinates": \#(coordinates), "type": "\#(type)"}"#
  }

  /// Returns the one feature of a tile, or `nil` if it was left out.
  static func decode(_ feature: String, _ categories: CategoryTable = .common) throws -> TileFeature? {
    try GeoJSONTile(decoding: tile(feature), categories: categories).features.first
  }
}
