import BothyGeo
import BothyStore
import BothyTesting
import Testing

@Suite("The tiles of an area", .timeLimit(.minutes(5)))
struct TileGridTests {
  /// Promises: T-11, T-12, E-1
  @Test(
    "Covers equal the vectors",
    arguments: [
      (47.6006073, -122.3300171, 500, 9), (47.6006073, -122.3322144, 500, 12),
      (47.6020889, -122.3300171, 500, 12),
      (47.6020889, -122.3322144, 500, 16), (51.43860066718254, -2.69439697265625, 500, 9),
      (-33.858771, 151.201596, 500, 9), (0, 0, 500, 4), (64.147, -21.94, 500, 20), (69.65, 18.96, 500, 30),
      (47.6006073, -122.3300171, 1000, 25), (47.6020889, -122.3322144, 1000, 36),
      (51.43860066718254, -2.69439697265625, 1000, 49), (69.65, 18.96, 1000, 110),
      (-16.8, 179.9999, 500, 4), (-16.8, -179.9999, 500, 4),
    ])
  func vectors(latitude: Double, longitude: Double, radius: Double, count: Int) throws {
    let grid = try TileGrid(
      around: Coordinate(latitude: latitude, longitude: longitude), radius: radius, zoom: 16)
    let tiles = try grid.tiles()
    #expect(grid.count == count && tiles.count == count && Set(tiles).count == count)
    #expect(tiles.allSatisfy(grid.contains))
  }

  /// Promises: T-11
  @Test("Tiles come row by row from the north, each row from the west")
  func order() throws {
    let grid = try TileGrid(
      around: Coordinate(latitude: 47.6006073, longitude: -122.3300171), radius: 500, zoom: 16)
    #expect(grid.rows == 22888...22890 && grid.columns == [10497...10499])
    #expect(
      try grid.tiles()
        == (22888...22890).flatMap { y in try (10497...10499).map { try Tile(x: $0, y: y, zoom: 16) } })
    let wide = try TileGrid(
      around: Coordinate(latitude: 47.6020889, longitude: -122.3322144), radius: 500, zoom: 16)
    #expect(wide.rows == 22887...22890 && wide.columns == [10496...10499])
    let box = GeoBox(west: -105, south: 39.99, east: -104.99, north: 40)
    #expect(try TileGrid(covering: box, zoom: 14).map(\.description) == ["14/3413/6202", "14/3413/6203"])
    let walk = try TileGrid(
      around: Coordinate(latitude: 51.43860066718254, longitude: -2.69439697265625), radius: 500, zoom: 16)
    #expect(
      Set(walk.map(\.quadkey))
        == Set(["122", "123", "132", "300", "301", "302", "303", "310", "312"].map { "0313131200230" + $0 }))
  }

  @Test("Tiles are listed for a box and around a position, the nearest first")
  func lists() throws {
    let box = GeoBox(west: -105, south: 39.99, east: -104.99, north: 40)
    #expect(try Tile.covering(box, zoom: 14).map(\.description) == ["14/3413/6202", "14/3413/6203"])
    let center = Coordinate(latitude: 51.43860066718254, longitude: -2.69439697265625)
    let tiles = try Tile.around(center, radius: 500, zoom: 16)
    #expect(try tiles.count == 9 && tiles.first == Tile(containing: center, zoom: 16))
    #expect(throws: BothyError.self) { try Tile.around(center, radius: 500, zoom: 16, limit: 8) }
  }

  /// Promises: E-1, E-2, B-4
  @Test("Around the antimeridian the cover is equal from both sides")
  func antimeridian() throws {
    for longitude in [179.9999, -179.9999, 180, -180] {
      let grid = try TileGrid(
        around: Coordinate(latitude: -16.8, longitude: longitude), radius: 500, zoom: 16)
      #expect(grid.map(\.description) == ["16/65535/35870", "16/0/35870", "16/65535/35871", "16/0/35871"])
    }
    let place = Coordinate(latitude: 0, longitude: 180)
    #expect(try Tile(containing: place, zoom: 16).x == 65535)
    #expect(try TileGrid(around: place, radius: 0, zoom: 16).map(\.x) == [65535])
    let ring = GeoBox(west: 10, south: 0, east: 9.9999, north: 1)
    #expect(try TileGrid(covering: ring, zoom: 4).columns == [0...15])
    #expect(try TileGrid(covering: ring, zoom: 0).count == 1)
  }

  /// Promises: T-12
  @Test(
    "Five hundred metres are 9 to 16 large tiles, and more towards the poles"
  )
  func counts() throws {
    var generator = SeededGenerator(seed: 12)
    let bands: [(ClosedRange<Double>, ClosedRange<Int>)] = [
      (0...0, 4...9), (35.16...56.96, 9...16), (60...60, 16...25), (70...70, 25...36), (80...80, 100...121),
    ]
    for (latitudes, counts) in bands {
      for _ in 0..<500 {
        let sign: Double = generator.chance(50) ? -1 : 1
        let center = Coordinate(
          latitude: sign * .random(in: latitudes, using: &generator),
          longitude: .random(in: -180...180, using: &generator))
        let count = try TileGrid(around: center, radius: 500, zoom: 16).count
        #expect(counts.contains(count), "\(center) has \(count)")
      }
    }
  }

  /// Promises: T-11, E-3
  @Test("Every point within the radius is in a covered tile, also at the poles")
  func completeness() throws {
    var generator = SeededGenerator(seed: 11)
    for _ in 0..<4_000 {
      let center = Coordinate(
        latitude: .random(in: -90...90, using: &generator),
        longitude: .random(in: -180...180, using: &generator))
      let exponent = Double.random(in: 0...7.3, using: &generator)
      var radius = 1.0
      for _ in 0..<Int(exponent) { radius *= 10 }
      radius *= exponent
      let grid = try TileGrid(around: center, radius: radius, zoom: .random(in: 0...20, using: &generator))
      for _ in 0..<20 {
        let part = generator.chance(50) ? 1 : Double.random(in: 0...1, using: &generator)
        let point = Geodesy.destination(
          from: center, bearing: .random(in: 0..<360, using: &generator),
          distance: min(part * radius, 20_015_086))
        guard center.distance(to: point) <= radius else { continue }
        #expect(grid.contains(try Tile(containing: point, zoom: grid.zoom)), "\(center) \(radius) \(point)")
      }
    }
  }

  @Test("The cover of a box is every tile that shares a point with it")
  func againstBruteForce() throws {
    var generator = SeededGenerator(seed: 5)
    for _ in 0..<300 {
      let latitudes = [0, 1].map { _ in Double.random(in: -90...90, using: &generator) }.sorted()
      let box = GeoBox(
        west: .random(in: -180...180, using: &generator), south: latitudes[0],
        east: .random(in: -180...180, using: &generator), north: latitudes[1])
      let zoom = Int.random(in: 0...5, using: &generator)
      let grid = try TileGrid(covering: box, zoom: zoom)
      var touched: Set<Tile> = []
      for x in 0..<1 << zoom {
        for y in 0..<1 << zoom {
          let tile = try Tile(x: x, y: y, zoom: zoom)
          // Random edges are never on a border, so half-open intervals make no difference here.
          let north: Double = y == 0 ? 90 : tile.bounds.north
          let south: Double = y == 1 << zoom - 1 ? -90 : tile.bounds.south
          guard box.south <= north, south <= box.north else { continue }
          let shares = box.parts.contains { part in
            part.west <= tile.bounds.east && tile.bounds.west <= part.east
          }
          if shares { touched.insert(tile) }
        }
      }
      #expect(Set(try grid.tiles()) == touched)
    }
  }

  /// Promises: E-5, E-3
  @Test("An area of too many tiles is rejected before listing, and counting is immediate")
  func limits() throws {
    let center = Coordinate(latitude: 51, longitude: 0)
    let huge = try TileGrid(around: center, radius: 1e9, zoom: 29)
    #expect(huge.count == 1 << 58)
    let error = #expect(throws: BothyError.self) { try huge.tiles() }
    #expect(error?.code == .tooManyTiles && error?.message.contains("10000") == true)
    let pole = try TileGrid(around: Coordinate(latitude: 90, longitude: 0), radius: 10, zoom: 16)
    #expect(pole.rows == 0...0 && pole.count == 65536)
    #expect(throws: BothyError.self) { try pole.tiles() }
    #expect(try pole.tiles(limit: 65536).count == 65536, "just as many as allowed")
    #expect(throws: BothyError.self) { try pole.tiles(limit: 65535) }
    #expect(try TileGrid(around: center, radius: .greatestFiniteMagnitude, zoom: 3).count == 64)
  }

  /// Promises: B-5, T-11
  @Test("No or negative radius is the center's tile, and an infinite one is rejected")
  func oddRadii() throws {
    let center = Coordinate(latitude: 47.6, longitude: -122.33)
    for radius in [0, -0.0, -1, -1e300] {
      #expect(try TileGrid(around: center, radius: radius, zoom: 16).map(\.description) == ["16/10498/22889"])
    }
    for radius in [Double.nan, .infinity, -.infinity] {
      #expect(throws: BothyError.self) { try TileGrid(around: center, radius: radius, zoom: 16) }
    }
    #expect(throws: BothyError.self) { try TileGrid(around: center, radius: 1, zoom: 30) }
    #expect(
      try TileGrid(around: Coordinate(latitude: 89.99, longitude: 0), radius: 1, zoom: 16).rows == 0...0)
  }

  /// Promises: T-13
  @Test("The tile of the position comes first, the others by distance")
  func nearestFirst() throws {
    var generator = SeededGenerator(seed: 13)
    for _ in 0..<200 {
      let center = Coordinate(
        latitude: .random(in: -80...80, using: &generator),
        longitude: .random(in: -180...180, using: &generator))
      let grid = try TileGrid(around: center, radius: 500, zoom: 16)
      let tiles = try grid.tiles(nearestTo: center)
      #expect(tiles.first == (try Tile(containing: center, zoom: 16)) && Set(tiles) == Set(grid))
      let distances = tiles.dropFirst().map { $0.bounds.distance(to: center) }
      #expect(distances == distances.sorted())
    }
    // At the corner of four tiles all are equally near, and the position is in one of them.
    let corner = Coordinate(latitude: 0, longitude: 0)
    let tiles = try TileGrid(around: corner, radius: 500, zoom: 16).tiles(nearestTo: corner)
    #expect(tiles.first == (try Tile(x: 32768, y: 32768, zoom: 16)) && tiles.count == 4)
  }
}
