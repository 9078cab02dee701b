import BothyTesting

/// Large tiles of synthetic features in the proportions of a town: points, lines, outlines and intersections.
enum SyntheticTile {
  static func text(features: Int, seed: UInt64) -> String {
    var generator = SeededGenerator(seed: seed)
    var text = #"{"features": ["#
    for id in 1...features {
      if id > 1 { text += ", " }
      text += feature(id, &generator)
    }
    return text + #"], "type": "FeatureCollection"}"#
  }

  private static func feature(_ id: Int, _ generator: inout SeededGenerator) -> String {
    switch id % 8 {
    case 0, 1, 2:
      TileDocument.feature(
        "highway", "gd_intersection", ids: "[-\(id), -\(id + 1)]",
        geometry: TileDocument.shape("Point", position(&generator)))
    case 3, 4:
      TileDocument.feature(
        "amenity", "cafe", ids: "[\(id)]", geometry: TileDocument.shape("Point", position(&generator)),
        properties:
          #"{"amenity": "cafe", "name": "Caf\u00e9 \#(id)", "addr:street": "Main Street", "addr:housenumber": "7"}"#
      )
    case 5, 6:
      TileDocument.feature(
        "highway", "residential", ids: "[-\(id)]",
        geometry: TileDocument.shape(
          "LineString", "[\((0..<3).map { _ in position(&generator) }.joined(separator: ", "))]"),
        properties: #"{"highway": "residential", "name": "Street \#(id)"}"#)
    default:
      TileDocument.feature(
        "building", "yes", ids: "[-\(id)]",
        geometry: TileDocument.shape(
          "Polygon", "[[\((0..<5).map { _ in position(&generator) }.joined(separator: ", "))]]"),
        properties: #"{"building": "yes"}"#)
    }
  }

  private static func position(_ generator: inout SeededGenerator) -> String {
    "[-80.5\(Int.random(in: 10_000...99_999, using: &generator)), 43.4\(Int.random(in: 10_000...99_999, using: &generator))]"
  }
}
