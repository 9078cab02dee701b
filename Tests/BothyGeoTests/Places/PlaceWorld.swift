import BothyGeo
import BothyStore
import BothyTesting
import Foundation

/// Creates versions of nine neighbouring tiles, passes them to the places, and computes the expected results itself.
struct PlaceWorld {
  let center: Coordinate
  let tiles: [Tile]
  private(set) var model: [Tile: (receivedAt: Int64, content: GeoJSONTile)] = [:]
  private(set) var union = FeatureUnion()
  var generator: SeededGenerator

  init(around center: Coordinate, seed: UInt64) throws {
    self.center = center
    generator = SeededGenerator(seed: seed)
    tiles = Array(try TileGrid(around: center, radius: 600, zoom: 16).prefix(9))
  }

  /// Returns a version of some tile with a time that may be older than that of the stored one.
  mutating func version() -> PlaceTile {
    let tile = tiles.randomElement(using: &generator) ?? tiles[0]
    let ids = (1...60).filter { _ in generator.chance(30) }
    let text =
      "{\"type\": \"FeatureCollection\", \"features\": [\(ids.map { feature($0) }.joined(separator: ", "))]}"
    return PlaceTile(
      tile, payload: Data(text.utf8), receivedAt: Int64.random(in: 1...12, using: &generator))
  }

  /// Applies a version like the places must.
  mutating func take(_ version: PlaceTile) throws {
    let content = try GeoJSONTile(decoding: version.payload)
    union.set(version.tile, content, receivedAt: version.receivedAt)
    if let known = model[version.tile], known.receivedAt > version.receivedAt { return }
    model[version.tile] = (version.receivedAt, content)
  }

  mutating func remove(_ tile: Tile) {
    union.remove(tile)
    model[tile] = nil
  }

  mutating func position() -> Coordinate {
    let bearing = Double.random(in: 0..<360, using: &generator)
    let distance = 1500 * Double.random(in: 0...1, using: &generator)
    return Geodesy.destination(from: center, bearing: bearing, distance: distance)
  }

  private mutating func text(_ position: Coordinate) -> String {
    "[\((position.longitude * 1e6).rounded() / 1e6), \((position.latitude * 1e6).rounded() / 1e6)]"
  }

  private mutating func around(_ count: Int) -> [String] {
    let middle = position()
    let size = Double.random(in: 2...120, using: &generator)
    return (0..<count).map {
      text(Geodesy.destination(from: middle, bearing: 360 * Double($0) / Double(count), distance: size))
    }
  }

  /// Returns a feature by its id: of every five ids one is an intersection, a café, a road, a building and its
  /// entrances.
  private mutating func feature(_ id: Int) -> String {
    let named = generator.chance(70)
    let name = named ? #", "name": "Thing \#(id) \#(["Café", "Århus", "Zoo"][id % 3])""# : ""
    switch id % 5 {
    case 0:
      let roads = [2, 7, 12, 17].shuffled(using: &generator).prefix(2).map { "-\($0)" }
      return TileDocument.feature(
        "highway", "gd_intersection", ids: "[\(roads.joined(separator: ", "))]",
        geometry: TileDocument.shape("Point", text(position())))
    case 1:
      return TileDocument.feature(
        "amenity", "cafe", ids: "[\(id)]", geometry: TileDocument.shape("Point", text(position())),
        properties: #"{"amenity": "cafe"\#(name)}"#)
    case 2:
      return TileDocument.feature(
        "highway", "residential", ids: "[-\(id)]",
        geometry: TileDocument.shape("LineString", "[\(around(3).joined(separator: ", "))]"),
        properties: #"{"highway": "residential"\#(name)}"#)
    case 3:
      let ring = around(5)
      return TileDocument.feature(
        "building", "yes", ids: "[-\(id)]",
        geometry: TileDocument.shape("Polygon", "[[\((ring + [ring[0]]).joined(separator: ", "))]]"),
        properties: #"{"building": "yes"\#(name)}"#)
    default:
      let first = Int.random(in: 100...104, using: &generator)
      return TileDocument.feature(
        "gd_entrance_list", "yes", ids: "[-\(id - 1), \(first), \(first + 5)]",
        geometry: TileDocument.shape("MultiPoint", "[\(text(position())), \(text(position()))]"))
    }
  }
}

/// The expected results of the places, computed from every feature.
extension PlaceWorld {
  func admitted(_ filter: PlaceFilter) -> [TileFeature] {
    union.features.sorted { $0.key < $1.key }.map(\.value).filter { filter.admits($0) }
  }

  private func distance(_ feature: TileFeature, _ from: Coordinate) -> Double {
    var nearest = feature.geometry.distance(to: from)
    guard feature.layer == .poi, feature.geometry.extent == .area else { return nearest }
    for (_, version) in model {
      for list in version.content.features where list.building == feature.ids[0] {
        for entrance in list.geometry.outline { nearest = min(nearest, entrance.distance(to: from)) }
      }
    }
    return nearest
  }

  func nearest(to center: Coordinate, _ filter: PlaceFilter) -> [(key: FeatureKey, distance: Double)] {
    admitted(filter).map { ($0.key, distance($0, center)) }.sorted { ($0.1, $0.0) < ($1.1, $1.0) }
  }
}
