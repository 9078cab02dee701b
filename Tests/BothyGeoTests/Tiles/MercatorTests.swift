import BothyGeo
import BothyStore
import BothyTesting
import Testing

@Suite("Positions, pixels and tiles", .timeLimit(.minutes(5)))
struct MercatorTests {
  /// Promises: T-10, E-2, E-3
  @Test(
    "Positions are in the tiles of the vectors, and poles in the last rows",
    arguments: [
      (0.5, 0.5, 16, 32859, 32676), (0, 0, 16, 32768, 32768), (90, 180, 16, 65535, 0),
      (-90, -180, 16, 0, 65535),
      (42.73036, -73.67663, 16, 19355, 24148), (47.6, -122.33, 1, 0, 0), (47.6, -122.33, 2, 0, 1),
      (47.6, -122.33, 10, 164, 357), (47.6, -122.33, 16, 10498, 22889), (47.6, -122.33, 18, 41994, 91558),
      (0, 180, 16, 65535, 32768), (0, 180, 0, 0, 0), (0, 999, 4, 4, 8), (0, -999, 4, 11, 8),
      (0, 181, 16, 182, 32768), (0, -181, 16, 65353, 32768), (0, 540, 4, 0, 8), (0, 180.0001, 4, 0, 8),
      (43.4609, -80.522396, 16, 18109, 23965), (43.460897, -80.522096, 16, 18109, 23965),
      (43.460901, -80.522207, 16, 18109, 23965),
    ])
  func vectors(latitude: Double, longitude: Double, zoom: Int, x: Int, y: Int) throws {
    let tile = try Tile(containing: Coordinate(latitude: latitude, longitude: longitude), zoom: zoom)
    #expect(tile.description == "\(zoom)/\(x)/\(y)")
  }

  /// Promises: T-3
  @Test("Pixels equal the vectors, in both ways of rounding")
  func pixels() throws {
    let place = Coordinate(latitude: 0.5, longitude: 0.5)
    let rounded = try Pixel(place, zoom: 16, rounding: .nearest)
    #expect(rounded.x == 8_411_910 && rounded.y == 8_365_306)
    let origin = try Pixel(Coordinate(latitude: 0, longitude: 0), zoom: 16, rounding: .nearest)
    #expect(origin.x == 8_388_608 && origin.y == 8_388_608)
    let corner = try Pixel(Coordinate(latitude: -90, longitude: 180), zoom: 29)
    #expect(corner.x == 1 << 37 - 1 && corner.y == 1 << 37 - 1)
    let down = try Pixel(Coordinate(latitude: 43.4609, longitude: -80.522396), zoom: 16)
    let nearest = try Pixel(
      Coordinate(latitude: 43.4609, longitude: -80.522396), zoom: 16, rounding: .nearest)
    #expect(try down.tile().y == 23965)
    #expect(try nearest.tile().y == 23966)
  }

  /// Promises: T-4
  @Test("A pixel's corner is in that pixel, and the last corner ends the map")
  func positionsOfPixels() throws {
    var generator = SeededGenerator(seed: 44)
    for _ in 0..<5_000 {
      let zoom = Int.random(in: 0...22, using: &generator)
      let side = Int64(256) << zoom
      let pixel = try Pixel(
        x: .random(in: 0..<side, using: &generator), y: .random(in: 0..<side, using: &generator), zoom: zoom)
      let back = try Pixel(pixel.coordinate, zoom: zoom, rounding: .nearest)
      #expect(back == pixel)
    }
    let end = try Pixel(x: 256 << 16, y: 256 << 16, zoom: 16).coordinate
    #expect(end.longitude == 180 && abs(end.latitude + 85.0511287798066) < 1e-13)
    #expect(try Pixel(x: -7, y: 1 << 60, zoom: 3).coordinate.longitude == -180)
  }

  /// Promises: T-5
  @Test("Pixels and tiles divide downwards, also west of the map")
  func pixelsOfTiles() throws {
    let tile = try Tile(x: 3, y: 4, zoom: 16)
    #expect(Pixel(tile).x == 768 && Pixel(tile).y == 1024)
    #expect(try Pixel(x: 1023, y: 1279, zoom: 16).tile() == tile)
    #expect(try Pixel(x: -5, y: 0, zoom: 16).tile().x == 65535)
    #expect(try Pixel(x: -300, y: 0, zoom: 16).tile().x == 65534)
    #expect(try Pixel(x: .min, y: 0, zoom: 16).tile().y == 0)
    #expect(throws: BothyError.self) { try Pixel(x: 0, y: -5, zoom: 16).tile() }
    #expect(throws: BothyError.self) { try Pixel(x: 0, y: 256 << 16, zoom: 16).tile() }
    #expect(throws: BothyError.self) { try Pixel(x: 0, y: 0, zoom: 30) }
  }

  /// Promises: T-6
  @Test("A pixel shows fewer metres towards the poles")
  func resolution() throws {
    #expect(abs(try Mercator.groundResolution(latitude: 0, zoom: 16) - 2.388657) < 1e-6)
    #expect(abs(try Mercator.groundResolution(latitude: 60, zoom: 16) - 1.194329) < 1e-6)
    #expect(
      try Mercator.groundResolution(latitude: 89, zoom: 5)
        == Mercator.groundResolution(latitude: -85.05112878, zoom: 5))
    #expect(throws: BothyError.self) { try Mercator.groundResolution(latitude: .nan, zoom: 5) }
    #expect(throws: BothyError.self) { try Mercator.groundResolution(latitude: 0, zoom: 99) }
  }

  /// Promises: T-7, B-2
  @Test(
    "The edges of tiles equal the vectors, exactly at the ends of the world",
    arguments: [
      (10472, 22982, 16, -122.4755859375, 47.2531356322442, -122.4700927734375, 47.25686404408872),
      (18109, 23965, 16, -80.5242919921875, 43.460893780082586, -80.518798828125, 43.46488082892955),
      (18749, 25070, 16, -77.0086669921875, 38.895308254920174, -77.003173828125, 38.89958342598271),
      (65535, 0, 16, 179.9945068359375, 85.05065487982755, 180, 85.0511287798066),
      (486, 332, 10, -9.140625, 53.12040528310657, -8.7890625, 53.33087298301705),
      (65535, 65535, 16, 179.9945068359375, -85.0511287798066, 180, -85.05065487982755),
    ])
  func edges(x: Int, y: Int, zoom: Int, west: Double, south: Double, east: Double, north: Double) throws {
    let tile = try Tile(x: x, y: y, zoom: zoom)
    let box = tile.bounds
    #expect(box.west == west && box.east == east)
    #expect(abs(box.south - south) < 2e-14 && abs(box.north - north) < 2e-14)
    let ring = tile.outline
    #expect(ring.count == 5 && ring.first == ring.last)
    #expect(ring[0].latitude == box.north && ring[0].longitude == box.west)
    #expect(ring[1].longitude == box.east && ring[1].latitude == box.north)
    #expect(ring[2].longitude == box.east && ring[2].latitude == box.south)
    #expect(ring[3].longitude == box.west && ring[3].latitude == box.south)
  }

  /// Promises: B-1, B-2, E-37
  @Test("A border belongs to the eastern or southern tile, and neighbours have no gap")
  func borders() throws {
    var generator = SeededGenerator(seed: 37)
    for _ in 0..<20_000 {
      let tile = TileTests.random(&generator)
      let (box, last) = (tile.bounds, 1 << tile.zoom - 1)
      let upper = Coordinate(latitude: box.north, longitude: box.west)
      let lower = Coordinate(latitude: box.south, longitude: box.east)
      #expect(try Tile(containing: upper, zoom: tile.zoom) == tile)
      #expect(
        try Tile(containing: lower, zoom: tile.zoom)
          == Tile(normalizingX: min(tile.x + 1, last), y: tile.y + 1, zoom: tile.zoom))
      #expect(try Tile(containing: tile.center, zoom: tile.zoom) == tile)
      if tile.x < last {
        let neighbor = try Tile(x: tile.x + 1, y: tile.y, zoom: tile.zoom)
        #expect(neighbor.bounds.west == box.east)
      }
      let inside = Coordinate(latitude: box.south.nextUp, longitude: box.east.nextDown)
      #expect(try Tile(containing: inside, zoom: tile.zoom) == tile)
    }
  }

  /// Promises: T-10
  @Test("A random position is within its tile, and each tile within its parent")
  func containment() throws {
    var generator = SeededGenerator(seed: 10)
    for _ in 0..<20_000 {
      let place = Coordinate(
        latitude: .random(in: -85.05...85.05, using: &generator),
        longitude: .random(in: -180..<180, using: &generator))
      let zoom = Int.random(in: Tile.zooms, using: &generator)
      let tile = try Tile(containing: place, zoom: zoom)
      let box = tile.bounds
      #expect(box.west <= place.longitude && place.longitude < box.east)
      #expect(box.south < place.latitude && place.latitude <= box.north)
      if zoom > 0 { #expect(try Tile(containing: place, zoom: zoom - 1) == tile.parent) }
    }
  }

  /// Promises: T-8, B-5
  @Test("Values that aren't numbers are rejected", arguments: [Double.nan, .infinity, -.infinity])
  func notNumbers(value: Double) {
    for place in [Coordinate(latitude: value, longitude: 0), Coordinate(latitude: 0, longitude: value)] {
      #expect(throws: BothyError.self) { try Tile(containing: place, zoom: 16) }
      #expect(throws: BothyError.self) { try Pixel(place, zoom: 16) }
      #expect(throws: BothyError.self) { try TileGrid(around: place, radius: 500, zoom: 16) }
      #expect(throws: BothyError.self) { try TileGrid(around: place, radius: 0, zoom: 16) }
      #expect(!Mercator.contains(place))
    }
    #expect(throws: BothyError.self) {
      try TileGrid(covering: GeoBox(west: value, south: 0, east: 0, north: 0), zoom: 3)
    }
    #expect(throws: BothyError.self) { try AreaCover(GeoBox(west: 0, south: 0, east: 0, north: value)) }
  }

  /// Promises: T-8
  @Test("The limits of the map belong to it")
  func onTheMap() {
    #expect(Mercator.contains(Coordinate(latitude: 85.05112878, longitude: 180)))
    #expect(Mercator.contains(Coordinate(latitude: -85.05112878, longitude: -180)))
    #expect(!Mercator.contains(Coordinate(latitude: 85.0512, longitude: 0)))
    #expect(!Mercator.contains(Coordinate(latitude: 0, longitude: 180.0001)))
  }
}
