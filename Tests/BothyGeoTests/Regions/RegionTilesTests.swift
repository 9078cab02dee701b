import BothyGeo
import BothyStore
import BothyTesting
import Foundation
import Testing

@Suite("The tiles of regions", .timeLimit(.minutes(5)))
struct RegionTilesTests {
  /// Promises: E-1, E-3
  @Test(
    "A box has its tiles at each zoom, each once, coarse ones first"
  )
  func boxes() throws {
    var generator = SeededGenerator(seed: 31)
    for _ in 0..<200 {
      let south = Double.random(in: -90...85, using: &generator)
      let box = GeoBox(
        west: .random(in: -180...180, using: &generator), south: south,
        east: .random(in: -180...180, using: &generator), north: min(south + 5, 90))
      let lowest = Int.random(in: 0...3, using: &generator)
      let zooms = try ZoomRange(lowest, lowest + Int.random(in: 0...2, using: &generator))
      let tiles = try OfflineRegions.Tiles(.box(box), zooms: zooms)
      let list = Array(tiles)
      let expected = try (zooms.lowest...zooms.highest).flatMap {
        try TileGrid(covering: box, zoom: $0).tiles()
      }
      #expect(list == expected, "\(box)")
      #expect(Set(list).count == list.count && list.map(\.zoom) == list.map(\.zoom).sorted())
      #expect(try tiles.count() == list.count)
    }
    let edge = RegionArea.box(GeoBox(west: 179.99, south: -17, east: -179.99, north: -16.5))
    let columns = Set(try OfflineRegions.Tiles(edge, zooms: ZoomRange(8, 8)).map(\.x))
    #expect(columns == [255, 0])
  }

  @Test(
    "Polygons return the tiles of their cover, with holes and around a pole")
  func polygons() throws {
    var generator = SeededGenerator(seed: 32)
    for step in 0..<60 {
      let center = Coordinate(
        latitude: step % 10 == 0 ? 89 : .random(in: -80...80, using: &generator),
        longitude: step % 3 == 0 ? 179.9 : .random(in: -180...180, using: &generator))
      let reach = Double.random(in: 20_000...600_000, using: &generator)
      func ring(_ distance: Double) -> [Coordinate] {
        (0..<8).map { Geodesy.destination(from: center, bearing: Double($0) * 45, distance: distance) }
      }
      let polygon = GeoPolygon(exterior: ring(reach), holes: [ring(reach / 2)])
      let zooms = try ZoomRange(2, 7)
      let tiles = try OfflineRegions.Tiles(.polygons([polygon]), zooms: zooms)
      var expected: [Tile] = []
      for zoom in 2...7 { expected += try AreaCover(polygon).tiles(zoom: zoom) }
      let list = Array(tiles)
      #expect(list.sorted() == expected && list.map(\.zoom) == list.map(\.zoom).sorted(), "\(center)")
      #expect(try tiles.count() == list.count)
    }
  }

  @Test("A million tiles are counted and iterated without being listed")
  func lazily() throws {
    let world = try OfflineRegions.Tiles(.box(.world), zooms: ZoomRange(0, 29))
    #expect(try world.count(limit: 1_000_000) == 1_000_001)
    #expect(
      Array(world.prefix(6)).map(\.description) == ["0/0/0", "1/0/0", "1/1/0", "1/0/1", "1/1/1", "2/0/0"])
    let half = try OfflineRegions.Tiles(
      .polygons([GeoPolygon(GeoBox(west: -100, south: -60, east: 80, north: 60))]), zooms: ZoomRange(3, 20))
    #expect(try half.count(limit: 100_000) == 100_001)
    var walked = 0
    for tile in half {
      walked += 1
      if walked == 20_000 {
        #expect(tile.zoom < 10)
        break
      }
    }
    #expect(walked == 20_000)
  }

  @Test("An area can be read from any GeoJSON document that has one")
  func documents() throws {
    let square = #"{"type":"Polygon","coordinates":[[[10,59],[11,59],[11,60],[10,60],[10,59]]]}"#
    let polygon = try RegionArea(geoJSON: Data(square.utf8))
    let bounds = GeoBox(west: 10, south: 59, east: 11, north: 60)
    #expect(polygon.bounds == bounds)
    for document in [
      #"{"type":"Feature","properties":{},"geometry":\#(square)}"#,
      #"{"type":"FeatureCollection","features":[{"type":"Feature","geometry":\#(square)},{"type":"Feature","geometry":null}]}"#,
      #"{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,2]},\#(square)]}"#,
    ] { #expect(try RegionArea(geoJSON: Data(document.utf8)) == polygon) }
    for wrong in [
      "", "[]", #"{"type":"Point","coordinates":[1,2]}"#, #"{"type":"Polygon","coordinates":[[[1]]]}"#,
      #"{"type":"Polygon","coordinates":[[[1,99],[2,2],[3,3]]]}"#,
    ] {
      let error = #expect(throws: BothyError.self) { try RegionArea(geoJSON: Data(wrong.utf8)) }
      #expect(error?.code == .invalidRegion, "\(wrong)")
    }
  }
}
