import BothyGeo
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

/// Queries on the tiles of towns.
@Suite("Places of towns", .timeLimit(.minutes(5)))
struct PlaceFixtureTests {
  /// Promises: E-14, T-17
  @Test("All tiles of a town, in any order, contain each feature once", arguments: Town.allCases)
  func union(_ town: Town) throws {
    let tiles = try town.tiles()
    guard !tiles.isEmpty || town == .made else { return }
    var union = FeatureUnion()
    for (tile, data) in tiles { union.set(tile, try GeoJSONTile(decoding: data), receivedAt: 1) }
    var generator = SeededGenerator(seed: 5)
    var first: [TileFeature] = []
    for turn in 0..<2 {
      let scratch = try TemporaryFolder()
      let places = try PlaceStore(path: scratch.file("places.sqlite"))
      for (tile, data) in turn == 0 ? tiles : tiles.shuffled(using: &generator) {
        try places.replace(PlaceTile(tile, payload: data, receivedAt: 1))
      }
      let all = try places.features(of: tiles.map(\.tile))
      if turn == 0 { first = all }
      #expect(all == first && Set(all.map(\.key)) == Set(union.features.keys))
      #expect(all.count > 200)
      #expect(try places.in(box: .world, .everything).count == all.count)
      #expect(try places.counts() == (tiles.count, all.count))
      let list = union.features.values.filter { $0.layer == .entranceList }.compactMap(\.building)
      for building in list {
        #expect(try places.entrances(ofBuilding: building) == union.entrances(ofBuilding: building))
      }
    }
  }

  /// Promises: T-19
  @Test(
    "The nearest and those within a radius equal a scan of every feature", arguments: Town.allCases)
  func bruteForce(_ town: Town) throws {
    let tiles = try town.tiles()
    let scratch = try TemporaryFolder()
    let places = try PlaceStore(path: scratch.file("places.sqlite"))
    var entrances: [Int64: [Coordinate]] = [:]
    for (tile, data) in tiles {
      try places.replace(PlaceTile(tile, payload: data, receivedAt: 1))
      for feature in try GeoJSONTile(decoding: data).features(in: .entranceList) {
        if let building = feature.building { entrances[building, default: []] += feature.geometry.outline }
      }
    }
    var everything = PlaceFilter.everything
    everything.layers.remove(.entranceList)  // each tile's list is measured separately
    let features = try places.in(box: .world, everything)
    let filters = [
      PlaceFilter.places, everything, PlaceFilter(layers: [.road, .path], includesUnnamed: true),
    ]
    var generator = SeededGenerator(seed: 11)
    for (place, tile) in tiles.map(\.tile).enumerated() {
      // Features in towns further away are never among the nearest.
      let center = tile.bounds.center
      let near = features.filter { ($0.geometry.bounds?.distance(to: center) ?? 0) < 10_000 }
      let box = tile.bounds
      let position = Coordinate(
        latitude: .random(in: box.south...box.north, using: &generator),
        longitude: .random(in: box.west...box.east, using: &generator))
      let filter = filters[place % 3]
      let all = near.filter { filter.admits($0) }.map { feature in
        (key: feature.key, distance: distance(feature, entrances, position))
      }.sorted { ($0.distance, $0.key) < ($1.distance, $1.key) }
      let note: Comment = "tile \(place), \(position)"
      let nearest = try places.nearest(20, to: position, filter)
      #expect(nearest.count == 20 || town == .real, note)
      #expect(nearest.map(\.distance) == all.prefix(20).map(\.distance), note)
      #expect(nearest.map(\.feature.key) == all.prefix(20).map(\.key), note)
      let within = try places.within(radius: 200, of: position, filter)
      #expect(within.map(\.feature.key) == all.filter { $0.distance <= 200 }.map(\.key), note)
    }
  }

  private func distance(
    _ feature: TileFeature, _ entrances: [Int64: [Coordinate]], _ position: Coordinate
  ) -> Double {
    let edge = feature.geometry.distance(to: position)
    guard feature.layer == .poi, feature.geometry.extent == .area else { return edge }
    return (entrances[feature.ids[0]] ?? []).reduce(edge) { min($0, $1.distance(to: position)) }
  }

  /// Promises: T-20, B-16
  @Test("All entrance lists of a tile are found by their buildings, named or not", arguments: Town.allCases)
  func entrances(_ town: Town) throws {
    guard let (tile, data, count) = try town.entrances() else { return }
    let scratch = try TemporaryFolder()
    let places = try PlaceStore(path: scratch.file("places.sqlite"))
    try places.replace(PlaceTile(tile, payload: data, receivedAt: 1))
    let content = try GeoJSONTile(decoding: data)
    let lists = content.features(in: .entranceList)
    #expect(lists.count == count && lists.allSatisfy { !$0.entrances.isEmpty })
    for list in lists {
      #expect(try places.entrances(ofBuilding: #require(list.building)) == Set(list.entrances))
    }
    let buildings = content.features(in: .poi, includeUnnamed: true).filter { building in
      lists.contains { $0.building == building.ids[0] }
    }
    #expect(Set(buildings.map(\.isNamed)) == [true, false])
    let roads = try places.in(box: .world, PlaceFilter(layers: [.road, .path], includesUnnamed: true))
    #expect(!roads.isEmpty)
    for road in roads {
      let id = road.ids[0]
      #expect(try places.road(id) == road)
      #expect(try places.intersections(ofRoad: id).allSatisfy { $0.roads.contains(id) })
    }
  }
}
