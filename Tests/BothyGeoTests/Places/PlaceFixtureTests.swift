import BothyGeo
import BothyStore
import BothyTesting
import Foundation
import Testing

/// Real tiles in the places.
@Suite("Places of real tiles")
struct PlaceFixtureTests {
  /// Promises: E-14
  @Test("The nine tiles of a walk hold 467 places, and the nearest are those that a look at all finds")
  func walk() throws {
    let scratch = try Scratch()
    let places = try Places(path: scratch.file("places.sqlite"))
    var union = FeatureUnion()
    for (place, name) in try Fixtures.names("grid3x3").filter({ !$0.hasPrefix("merged") }).enumerated() {
      guard let data = try Fixtures.data("grid3x3/\(name)") else { return }
      let tile = try Tile(quadkey: String(name.dropLast(5)))
      try places.replace(PlaceTile(tile, payload: data, receivedAt: Int64(place)))
      union.set(tile, try GeoJSONTile(decoding: data), receivedAt: Int64(place))
    }
    guard let box = GeoBox(around: union.features.values.map(\.center)) else { return }
    #expect(try places.counts() == (9, 467))
    var generator = SeededGenerator(seed: 11)
    for _ in 0..<40 {
      let position = Coordinate(
        latitude: .random(in: box.south...box.north, using: &generator),
        longitude: .random(in: box.west...box.east, using: &generator))
      let all = union.features.values.filter { PlaceFilter.places.admits($0) }.map { feature in
        (key: feature.key, distance: distance(feature, union, position))
      }.sorted { ($0.distance, $0.key) < ($1.distance, $1.key) }
      let nearest = try places.nearest(20, to: position)
      #expect(nearest.map(\.feature.key) == all.prefix(20).map(\.key))
      let within = try places.within(radius: 150, of: position)
      #expect(within.map(\.feature.key) == all.filter { $0.distance <= 150 }.map(\.key))
    }
  }

  private func distance(_ feature: MapFeature, _ union: FeatureUnion, _ position: Coordinate) -> Double {
    let edge = feature.geometry.distance(to: position)
    guard feature.geometry.extent == .area,
      let list = union.features[FeatureKey(.entranceList, feature.key.id)]
    else { return edge }
    return list.geometry.outline.reduce(edge) { min($0, $1.distance(to: position)) }
  }

  /// Promises: T-20, B-16
  @Test("All entrance lists of Washington are found by their buildings, named or not")
  func entrances() throws {
    guard let data = try Fixtures.data("soundscape-tiles/16_18749_25070.json") else { return }
    let scratch = try Scratch()
    let places = try Places(path: scratch.file("places.sqlite"))
    try places.replace(
      PlaceTile(try Tile(x: 18749, y: 25070, zoom: 16), payload: data, receivedAt: 1))
    let lists = try GeoJSONTile(decoding: data).features(in: .entranceList)
    #expect(lists.count == 4)
    for list in lists {
      #expect(try places.entrances(ofBuilding: #require(list.building)) == Set(list.entrances))
    }
    let roads = try places.in(box: .world, PlaceFilter(layers: [.road, .path], includesUnnamed: true))
    for road in roads {
      let id = road.ids[0]
      #expect(try places.road(id) == road)
      #expect(try places.intersections(ofRoad: id).allSatisfy { $0.roads.contains(id) })
    }
  }
}
