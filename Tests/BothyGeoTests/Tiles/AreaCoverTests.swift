import BothyGeo
import BothyStore
import BothyTesting
import Testing

@Suite("The tiles of polygons", .timeLimit(.minutes(5)))
struct AreaCoverTests {
  /// Returns a star around a center with corners at random distances, so that edges don't cross.
  private static func star(_ generator: inout SeededGenerator) -> GeoPolygon {
    let center = Coordinate(
      latitude: .random(in: -60...60, using: &generator),
      longitude: .random(in: -180...180, using: &generator))
    let corners = Int.random(in: 3...9, using: &generator)
    let size = Double.random(in: 0.01...20, using: &generator)
    return GeoPolygon(
      exterior: (0..<corners).map { corner in
        let reach = size * .random(in: 0.3...1, using: &generator)
        let ray = Geodesy.destination(
          from: Coordinate(latitude: 0, longitude: 0), bearing: 360 * Double(corner) / Double(corners),
          distance: 111_000 * reach)
        return Coordinate(
          latitude: center.latitude + ray.latitude,
          longitude: Geodesy.normalized(longitude: center.longitude + ray.longitude))
      })
  }

  @Test("A box covers the same tiles as a polygon of its corners")
  func boxes() throws {
    var generator = SeededGenerator(seed: 21)
    for _ in 0..<400 {
      let south = Double.random(in: -88...88, using: &generator)
      let box = GeoBox(
        west: .random(in: -180...180, using: &generator), south: south,
        east: .random(in: -180...180, using: &generator), north: min(south + 20, 90))
      let zoom = Int.random(in: 0...6, using: &generator)
      #expect(
        try AreaCover(box).tiles(zoom: zoom) == TileGrid(covering: box, zoom: zoom).sorted(), "\(box) \(zoom)"
      )
    }
    #expect(try AreaCover(.world).tiles(zoom: 3).count == 64)
  }

  @Test("The cover of a tile's bounds is that tile, and of a block, itself")
  func exact() throws {
    var generator = SeededGenerator(seed: 23)
    for _ in 0..<2000 {
      let zoom = Int.random(in: 0...22, using: &generator)
      let side = 1 << zoom
      let tile = try Tile(
        x: .random(in: 0..<side, using: &generator), y: .random(in: 0..<side, using: &generator), zoom: zoom)
      #expect(try TileGrid(covering: tile.bounds, zoom: zoom).tiles() == [tile])
      #expect(try AreaCover(tile.bounds).tiles(zoom: zoom) == [tile])
      let last = try Tile(
        x: min(tile.x + 2, side - 1), y: min(tile.y + 2, side - 1), zoom: zoom)
      let block = GeoBox(
        west: tile.bounds.west, south: last.bounds.south, east: last.bounds.east, north: tile.bounds.north)
      let count = (last.x - tile.x + 1) * (last.y - tile.y + 1)
      #expect(try TileGrid(covering: block, zoom: zoom).count == count)
      #expect(try AreaCover(block).count(zooms: zoom...zoom) == count)
      if zoom > 0 { #expect(try TileGrid(covering: tile.bounds, zoom: zoom - 1).count == 1) }
    }
    let east = GeoBox(west: 170, south: 0.1, east: -180, north: 1)
    #expect(try TileGrid(covering: east, zoom: 4).map(\.x) == [15])
  }

  @Test("A point or a line on a border is still covered")
  func flat() throws {
    let tile = try Tile(x: 5, y: 6, zoom: 4).bounds
    for box in [
      GeoBox(west: tile.west, south: tile.south, east: tile.west, north: tile.south),
      GeoBox(west: tile.west, south: tile.south, east: tile.west, north: tile.north),
      GeoBox(west: tile.west, south: tile.north, east: tile.east, north: tile.north),
    ] {
      #expect(try !TileGrid(covering: box, zoom: 4).tiles().isEmpty)
      #expect(try !AreaCover(box).tiles(zoom: 4).isEmpty)
    }
  }

  @Test("Every point of a polygon is covered, and every covered tile touches it")
  func stars() throws {
    var generator = SeededGenerator(seed: 22)
    for _ in 0..<150 {
      let polygon = Self.star(&generator)
      let bounds = try #require(polygon.bounds)
      var zoom = Int.random(in: 0...9, using: &generator)
      while try TileGrid(covering: bounds, zoom: zoom).count > 400 { zoom -= 1 }
      let tiles = try AreaCover(polygon).tiles(zoom: zoom)
      let set = Set(tiles)
      #expect(set.count == tiles.count && tiles == tiles.sorted())
      var reached: Set<Tile> = []
      let corners = polygon.exterior
      for (start, end) in zip(corners, corners.dropFirst() + corners.prefix(1)) {
        let across = end.longitude - start.longitude
        let step = across > 180 ? across - 360 : across < -180 ? across + 360 : across
        for part in 0...2000 {
          let along = Double(part) / 2000
          let point = Coordinate(
            latitude: start.latitude + along * (end.latitude - start.latitude),
            longitude: Geodesy.normalized(longitude: start.longitude + along * step))
          reached.insert(try Tile(containing: point, zoom: zoom))
        }
      }
      #expect(reached.subtracting(set).isEmpty)
      for tile in tiles where !reached.contains(tile) {
        let isNear = polygon.distanceToEdge(from: tile.center) <= 1.01 * reach(tile)
        #expect(polygon.contains(tile.center) || isNear, "\(tile) of \(polygon)")
      }
      for _ in 0..<200 {
        let point = Coordinate(
          latitude: .random(in: bounds.south...bounds.north, using: &generator),
          longitude: Geodesy.normalized(
            longitude: bounds.west + .random(in: 0...bounds.width, using: &generator)))
        if polygon.contains(point) { #expect(set.contains(try Tile(containing: point, zoom: zoom))) }
      }
    }
  }

  /// Returns the metres from a tile's center to its farthest corner.
  private func reach(_ tile: Tile) -> Double {
    tile.outline.map(tile.center.distance).max() ?? 0
  }

  @Test("Tiles completely in a hole or outside aren't covered, and counts equal the lists")
  func holes() throws {
    let square = [(0.0, 0.0), (40, 0), (40, 40), (0, 40)]
    let hole = [(10.0, 10.0), (30, 10), (30, 30), (10, 30)]
    let ring = { (points: [(Double, Double)]) in points.map { Coordinate(latitude: $0.1, longitude: $0.0) } }
    let cover = try AreaCover(GeoPolygon(exterior: ring(square), holes: [ring(hole)]))
    let inHole = try Tile(containing: Coordinate(latitude: 20, longitude: 20), zoom: 7)
    #expect(try !cover.tiles(zoom: 7).contains(inHole))
    #expect(
      try cover.tiles(zoom: 7).contains(Tile(containing: Coordinate(latitude: 5, longitude: 5), zoom: 7)))
    let listed = try (0...8).reduce(0) { try $0 + cover.tiles(zoom: $1).count }
    #expect(try cover.count(zooms: 0...8) == listed)
    #expect(try cover.count(zooms: 0...20, limit: 1000) == 1001)
    let error = #expect(throws: BothyError.self) { try cover.tiles(zoom: 20) }
    #expect(error?.code == .tooManyTiles)
    #expect(throws: BothyError.self) { try cover.count(zooms: 0...30) }
  }

  @Test("A count ends one above its limit, and a longer list throws")
  func limits() throws {
    let first = try Tile(x: 5, y: 9, zoom: 5).bounds
    let last = try Tile(x: 7, y: 10, zoom: 5).bounds
    // These six tiles are counted one by one, because none of their parents is completely in the area.
    let cover = try AreaCover(
      GeoBox(west: first.west, south: last.south, east: last.east, north: first.north))
    for limit in 0...7 {
      #expect(try cover.count(zooms: 5...5, limit: limit) == min(6, limit + 1))
      if limit < 6 {
        let error = #expect(throws: BothyError.self) { try cover.tiles(zoom: 5, limit: limit) }
        #expect(error?.code == .tooManyTiles)
      } else {
        #expect(try cover.tiles(zoom: 5, limit: limit).count == 6)
      }
    }
  }

  @Test("An area around a pole covers every column, and the antimeridian splits others")
  func roundTheWorld() throws {
    let south = stride(from: -180.0, to: 180, by: 30).map { Coordinate(latitude: -80, longitude: $0) }
    let tiles = try AreaCover(GeoPolygon(exterior: south)).tiles(zoom: 4)
    #expect(Set(tiles.map(\.x)) == Set(0...15) && tiles.map(\.y).max() == 15 && tiles.map(\.y).min() == 14)
    #expect(GeoPolygon(exterior: south).contains(Coordinate(latitude: -89, longitude: 77)))
    let fiji = [(177.0, -19.0), (-178, -19), (-178, -16), (177, -16)].map {
      Coordinate(latitude: $0.1, longitude: $0.0)
    }
    #expect(Set(try AreaCover(GeoPolygon(exterior: fiji)).tiles(zoom: 6).map(\.x)) == [63, 0])
    #expect(try AreaCover([]).count(zooms: 0...5) == 0)
  }
}
