import BothyGeo
import BothyStore
import Testing

/// The known contents of real tiles.
@Suite("Real tiles", .timeLimit(.minutes(5)))
struct FixtureTileTests {
  private func tile(_ name: String) throws -> GeoJSONTile? {
    try Fixtures.data("soundscape-tiles/\(name).json").map { try GeoJSONTile(decoding: $0) }
  }

  /// Promises: B-1
  @Test("The tile of Waterloo has its features, and its intersections lie in it")
  func waterloo() throws {
    guard let tile = try tile("16_18109_23965") else { return }
    #expect(tile.features.count == 913 && tile.problems.isEmpty)
    #expect(tile.features.count(where: { !$0.isNamed }) == 58)
    let counts = [TileFeature.Layer.poi, .road, .path, .intersection, .entranceList].map {
      tile.features(in: $0).count
    }
    #expect(counts == [311, 64, 160, 317, 3])
    for feature in tile.features(in: .intersection) {
      #expect(try Tile(containing: feature.center, zoom: 16).description == "16/18109/23965")
    }
    #expect(tile.features(in: .intersection).count(where: { $0.ids != $0.ids.sorted() }) == 168)
    #expect(tile.features.contains { $0.localizedNames["zh"] != nil })
  }

  /// Promises: B-1, B-16, E-34
  @Test(
    "The tile of Washington has distinct relations, complete entrance lists and inner intersections")
  func washington() throws {
    guard let tile = try tile("16_18749_25070") else { return }
    #expect(tile.features.count == 1147 && tile.problems.isEmpty)
    let ids = Set(tile.features.map { $0.ids[0] })
    #expect(ids.contains(-100_000_000_012_445_569) && ids.contains(-100_000_000_012_445_566))
    let intersections = tile.features(in: .intersection)
    #expect(intersections.count == 443)
    for feature in intersections {
      #expect(try Tile(containing: feature.center, zoom: 16).description == "16/18749/25070")
    }
    #expect(intersections.count(where: { $0.ids != $0.ids.sorted() }) == 280)
    #expect(Set(intersections.map(\.key)).count == 443)
    let lists = tile.features(in: .entranceList)
    #expect(lists.count == 4)
    let buildings = Dictionary(
      tile.features(in: .poi, includeUnnamed: true).map { ($0.ids[0], $0) }, uniquingKeysWith: { $1 })
    for list in lists {
      let building = try #require(list.building)
      #expect(tile.entrances(ofBuilding: building).count == Set(list.entrances).count)
      #expect(buildings[building] != nil)
    }
    #expect(lists.count(where: { buildings[$0.building ?? 0]?.isNamed == false }) == 2)
    let roads = Set(tile.features.filter { [.road, .path, .poi].contains($0.layer) }.map { $0.ids[0] })
    #expect(intersections.allSatisfy { $0.roads.allSatisfy(roads.contains) })
  }

  @Test("Two reads of all real tiles are equal and without problems")
  func all() throws {
    for folder in ["soundscape-tiles", "grid3x3"] {
      for name in try Fixtures.names(folder) where name.hasSuffix(".json") {
        guard let data = try Fixtures.data("\(folder)/\(name)") else { continue }
        let first = try GeoJSONTile(decoding: data)
        #expect(try GeoJSONTile(decoding: data) == first && first.problems.isEmpty, "\(name)")
      }
    }
  }

  /// Promises: E-15
  @Test("A tile with two versions of elements has each element once")
  func doubled() throws {
    guard let tile = try tile("16_32295_21787") else { return }
    #expect(tile.features.count == 407 - 18)
    #expect(tile.features.first { $0.ids == [3_690_406_144] }?.name == "Café Rouge")
    #expect(tile.features.first { $0.ids == [3_638_036_378] }?.name == "Sea Salt")
    #expect(tile.features.count(where: \.isRoundabout) == 2)
  }

  /// Promises: E-14
  @Test("Unions of tiles don't depend on the order, with 467 places in nine")
  func unions() throws {
    if let upper = try tile("16_32291_21806"), let lower = try tile("16_32291_21807") {
      let (first, second) = (try Tile(x: 32291, y: 21806, zoom: 16), try Tile(x: 32291, y: 21807, zoom: 16))
      var (down, up) = (FeatureUnion(), FeatureUnion())
      down.set(first, upper, receivedAt: 1)
      down.set(second, lower, receivedAt: 1)
      up.set(second, lower, receivedAt: 1)
      up.set(first, upper, receivedAt: 1)
      #expect(down.features == up.features)
      #expect(
        down.features[FeatureKey(.poi, "-559572534")] == lower.features.last { $0.ids == [-559_572_534] })
      let common = Set(upper.features(in: .intersection).map(\.key))
      #expect(common.isDisjoint(with: lower.features(in: .intersection).map(\.key)))
      let elements = { (tile: GeoJSONTile) in Set(tile.features.map { "\($0.ids) \($0.type) \($0.value)" }) }
      #expect(elements(upper).union(elements(lower)).count == 950)
    }
    let walk = try Fixtures.names("grid3x3").filter { !$0.hasPrefix("merged") }
    guard let merged = try Fixtures.data("grid3x3/merged-467.json") else { return }
    var union = FeatureUnion()
    var total = 0
    for (place, name) in walk.enumerated() {
      guard let data = try Fixtures.data("grid3x3/\(name)") else { continue }
      let tile = try GeoJSONTile(decoding: data)
      total += tile.features.count
      union.set(try Tile(quadkey: String(name.dropLast(5))), tile, receivedAt: Int64(place))
    }
    #expect(walk.count == 9 && total == 493 && union.features.count == 467)
    #expect(Set(union.features.keys) == Set(try GeoJSONTile(decoding: merged).features.map(\.key)))
  }

  @Test("The real category table is read, and most places have a category")
  func categories() throws {
    guard let json = try Fixtures.data("categories.json"),
      let data = try Fixtures.data("soundscape-tiles/16_18109_23965.json")
    else { return }
    let table = try CategoryTable(json: json)
    let places = try GeoJSONTile(decoding: data, categories: table).features(in: .poi)
    #expect(table.version == 1 && places.count(where: { $0.category != .undefined }) > places.count * 3 / 4)
  }
}
