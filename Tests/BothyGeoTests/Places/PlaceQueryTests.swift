import BothyGeo
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

@Suite("Queries of places, compared with a scan of every feature", .timeLimit(.minutes(5)))
struct PlaceQueryTests {
  private static let centers = [
    Coordinate(latitude: 43.462, longitude: -80.52), Coordinate(latitude: -17.8, longitude: 179.9999),
    Coordinate(latitude: 65.2, longitude: -179.9995), Coordinate(latitude: 0, longitude: 0),
    Coordinate(latitude: 84.9, longitude: 12),
  ]

  /// Promises: T-16, T-17, T-19, T-45, E-14, E-17, B-14, B-15, B-18, B-19j
  @Test(
    "Every query equals a full scan after any order of versions and deletions",
    arguments: centers)
  func random(center: Coordinate) throws {
    for seed in UInt64(1)...4 {
      let scratch = try TemporaryFolder()
      let places = try PlaceStore(path: scratch.file("places.sqlite"))
      var world = try PlaceWorld(around: center, seed: seed)
      for step in 1...24 {
        if world.generator.chance(15), let tile = world.tiles.randomElement(using: &world.generator) {
          try places.remove([tile])
          world.remove(tile)
        } else {
          let version = world.version()
          try places.replace(version)
          try world.take(version)
        }
        if step % 8 == 0 { try compare(places, &world, "seed \(seed), step \(step)") }
      }
      try places.close()
    }
  }

  private func compare(_ places: PlaceStore, _ world: inout PlaceWorld, _ note: Comment) throws {
    #expect(try places.in(box: .world, .everything) == world.admitted(.everything), note)
    let filters: [PlaceFilter] = [
      .places, .everything, PlaceFilter(layers: [.road]), PlaceFilter(includesUnnamed: true),
    ]
    for filter in filters {
      let position = world.position()
      let all = world.nearest(to: position, filter)
      let radius = Double.random(in: 1...1200, using: &world.generator)
      let within = try places.within(radius: radius, of: position, filter)
      #expect(within.map(\.feature.key) == all.filter { $0.distance <= radius }.map(\.key), note)
      #expect(within.map(\.distance) == all.filter { $0.distance <= radius }.map(\.distance), note)
      for count in [1, 7, 500] {
        let nearest = try places.nearest(count, to: position, filter)
        #expect(nearest.map(\.feature.key) == all.prefix(count).map(\.key), note)
      }
      let box = try GeoBox(around: position, radius: radius)
      #expect(
        try places.in(box: box, filter) == world.admitted(filter).filter { box.contains($0.center) }, note)
      let inside = world.admitted(filter).filter { $0.geometry.contains(position) }
      #expect(try places.areas(containing: position, filter) == inside, note)
    }
    for id in 1...60 {
      let building = Int64(-id)
      #expect(
        try places.entrances(ofBuilding: building) == world.union.entrances(ofBuilding: building), note)
    }
    for road in [Int64(-2), -7, -12, -17] {
      let expected = world.admitted(.everything).filter { $0.roads.contains(road) }
      #expect(try places.intersections(ofRoad: road) == expected, note)
      for feature in expected {
        let found = try places.intersection(ofRoad: road, at: feature.center)
        #expect(found?.center.distance(to: feature.center) == 0, note)
        let beside = Geodesy.destination(from: feature.center, bearing: 70, distance: 0.5)
        let near = try #require(try places.intersection(ofRoad: road, at: beside), note)
        #expect(near.center.distance(to: beside) < 0.51, note)
      }
      #expect(try places.road(road) == world.union.features[FeatureKey(.road, String(road))], note)
    }
    for key in world.union.features.keys {
      #expect(try places.tiles(of: key) == world.union.tiles(of: key).sorted(), note)
    }
    #expect(try places.counts().features == world.union.features.count, note)
  }

  private func filled(_ features: String...) throws -> (PlaceStore, TemporaryFolder) {
    let scratch = try TemporaryFolder()
    let places = try PlaceStore(path: scratch.file("places.sqlite"))
    let text = "{\"type\": \"FeatureCollection\", \"features\": [\(features.joined(separator: ", "))]}"
    let tile = try Tile(containing: Coordinate(latitude: 43.462, longitude: -80.52), zoom: 16)
    try places.replace(PlaceTile(tile, payload: Data(text.utf8), receivedAt: 1))
    return (places, scratch)
  }

  private func cafe(_ id: Int, _ properties: String, at position: String = "[-80.52, 43.462]") -> String {
    TileDocument.feature(
      "amenity", "cafe", ids: "[\(id)]", geometry: TileDocument.shape("Point", position),
      properties: "{\(properties)}")
  }

  @Test("Names are found without diacritics, by prefixes of words and in every language")
  func names() throws {
    let (places, scratch) = try filled(
      cafe(1, #""name": "Café Zürich""#), cafe(2, #""name": "Oslo Opera", "name:de": "Osloer Opernhaus""#),
      cafe(3, #""name": "Zurich Café and more""#), cafe(4, #""amenity": "cafe""#))
    defer { withExtendedLifetime(scratch) {} }
    let find = { (text: String) in try Set(places.search(text).map(\.ids[0])) }
    #expect(try find("cafe zurich") == [1, 3])
    #expect(try find("ZÜRI") == [1, 3])
    #expect(try find("opernhaus") == [2])
    #expect(try find("\"oslo\" OR *") == [])
    #expect(try find("oslo-opera") == [2])
    #expect(try find("  ") == [] && find("name") == [])
    #expect(try places.search("cafe", limit: 1).count == 1)
  }

  /// Promises: E-36
  @Test("Features without a name are stored, and returned only if requested")
  func unnamed() throws {
    let (places, scratch) = try filled(
      TileDocument.feature("building", "yes", ids: "[-9]", properties: #"{"building": "yes"}"#))
    defer { withExtendedLifetime(scratch) {} }
    #expect(try places.in(box: .world) == [])
    #expect(try places.in(box: .world, PlaceFilter(includesUnnamed: true)).map(\.ids) == [[-9]])
  }

  /// Promises: E-16, T-15
  @Test("An id mapped as a place and as a road is both")
  func twoLayers() throws {
    let (places, scratch) = try filled(
      cafe(5, #""name": "Bridge""#),
      TileDocument.feature("highway", "residential", ids: "[5]", properties: #"{"highway": "residential"}"#))
    defer { withExtendedLifetime(scratch) {} }
    #expect(try places.features(FeatureKey(.poi, "5")).map(\.name) == ["Bridge"])
    #expect(try places.road(5)?.layer == .road)
  }

  /// Promises: T-44
  @Test("A progressive search widens by 200 metres up to 1000 until it suffices")
  func progressive() throws {
    let start = Coordinate(latitude: 43.462, longitude: -80.52)
    let cafes = (1...12).map { index in
      let place = Geodesy.destination(from: start, bearing: 90, distance: Double(index) * 100 - 50)
      return cafe(index, #""name": "Café""#, at: "[\(place.longitude), \(place.latitude)]")
    }
    let (places, scratch) = try filled(cafes.joined(separator: ", "))
    defer { withExtendedLifetime(scratch) {} }
    let ids = { (wanted: Int) in try places.search(around: start, wanted: wanted).map(\.feature.ids[0]) }
    #expect(try ids(1) == [1, 2])
    #expect(try ids(3) == [1, 2, 3, 4])
    #expect(try ids(50) == Array(1...10))
    #expect(
      try places.search(around: start, wanted: 1) { $0.feature.ids[0] > 6 }.map(\.feature.ids[0]) == [7, 8])
  }
}
