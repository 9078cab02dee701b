import BothyGeo
import BothyStore
import BothyTesting
import Foundation
import Testing

@Suite("Tiles and their names", .timeLimit(.minutes(5)))
struct TileTests {
  static func random(_ generator: inout SeededGenerator) -> Tile {
    let zoom = Int.random(in: Tile.zooms, using: &generator)
    let side = 1 << zoom
    return Tile(
      normalizingX: .random(in: 0..<side, using: &generator), y: .random(in: 0..<side, using: &generator),
      zoom: zoom)
  }

  /// Promises: T-1
  @Test(
    "Equal tiles are one key of a set, ordered, and survive being stored")
  func identity() throws {
    let tile = try Tile(x: 10472, y: 22982, zoom: 16)
    #expect(
      Set([tile, try Tile(quadkey: tile.quadkey), try Tile(x: 10472, y: 22982, zoom: 15 + 1)]).count == 1)
    #expect(tile.description == "16/10472/22982")
    let stored = try JSONEncoder().encode([tile])
    #expect(try JSONDecoder().decode([Tile].self, from: stored) == [tile])
    let broken = Data(#"[{"x":4,"y":0,"zoom":1}]"#.utf8)
    #expect(throws: (any Error).self) { try JSONDecoder().decode([Tile].self, from: broken) }
    let rows = try [(1, 1, 1), (0, 1, 1), (0, 0, 0), (1, 0, 1)].map { try Tile(x: $0.0, y: $0.1, zoom: $0.2) }
    #expect(rows.sorted().map(\.description) == ["0/0/0", "1/1/0", "1/0/1", "1/1/1"])
  }

  /// Promises: T-2
  @Test("Quadkeys equal the vectors")
  func quadkeys() throws {
    #expect(try Tile(x: 10472, y: 22982, zoom: 16).quadkey == "0212300233101220")
    #expect(try Tile(x: 18109, y: 23965, zoom: 16).quadkey == "0302231230133303")
    #expect(try Tile(x: 18749, y: 25070, zoom: 16).quadkey == "0320100322313321")
    #expect(try Tile(x: 486, y: 332, zoom: 10).quadkey == "0313102310")
  }

  /// Promises: T-2, T-8, E-4, B-5
  @Test(
    "A column, row or zoom that no tile has is rejected, whatever its size",
    arguments: [
      (65536, 0, 16), (0, 65536, 16), (-1, 0, 16), (0, -9, 16), (0, 0, -1), (0, 0, 30), (1, 0, 0),
      (.max, .max, 29), (.min, .min, .min), (0, 0, .max),
    ])
  func refused(x: Int, y: Int, zoom: Int) {
    let error = #expect(throws: BothyError.self) { try Tile(x: x, y: y, zoom: zoom) }
    #expect(error?.code == .invalidTile)
  }

  /// Promises: T-9, B-6, E-4
  @Test("Texts that aren't quadkeys are rejected, and the empty one is the world")
  func badQuadkeys() throws {
    #expect(try Tile(quadkey: "") == Tile(x: 0, y: 0, zoom: 0))
    #expect(try Tile(quadkey: "").quadkey == "")
    for key in [
      "4", "01a", String(repeating: "0", count: 40), String(repeating: "3", count: 30), "-1", " ", "٣",
    ] {
      let error = #expect(throws: BothyError.self) { try Tile(quadkey: key) }
      #expect(error?.code == .invalidKey)
    }
    #expect(try Tile(quadkey: String(repeating: "3", count: 29)).x == 1 << 29 - 1)
  }

  /// Promises: T-9, R-36
  @Test("Every name leads back to its tile")
  func roundTrips() throws {
    var generator = SeededGenerator(seed: 36)
    for _ in 0..<20_000 {
      let tile = Self.random(&generator)
      #expect(try Tile(quadkey: tile.quadkey) == tile)
      #expect(tile.quadkey.count == tile.zoom)
      #expect(try Tile(morton: tile.morton) == tile)
      #expect(try Tile(hilbertID: tile.hilbertID) == tile)
      #expect(try Tile(x: tile.x, southernRow: tile.southernRow, zoom: tile.zoom) == tile)
      if let key = tile.packedKey {
        #expect(try Tile(packedKey: key) == tile)
      } else {
        #expect(tile.zoom == 29)
      }
    }
  }

  /// Promises: R-36
  @Test("Packed keys and Morton numbers equal the vectors, and invalid numbers are rejected")
  func numbers() throws {
    let tile = try Tile(x: 10498, y: 22889, zoom: 16)
    #expect(tile.packedKey == 1_152_924_322_642_286_953)
    #expect(tile.morton == 4_945_291_398)
    #expect(tile.morton == UInt64(tile.quadkey, radix: 4).map { $0 | 1 << 32 })
    #expect(try Tile(x: 0, y: 0, zoom: 0).morton == 1)
    for key: UInt64 in [1 << 56 | 2, 29 << 56, .max, 1 << 28] {
      #expect(throws: BothyError.self) { try Tile(packedKey: key) }
    }
    for key: UInt64 in [0, 2, 3, 8, .max, 1 << 60] {
      #expect(throws: BothyError.self) { try Tile(morton: key) }
    }
    let last = try Tile(x: 1 << 29 - 1, y: 1 << 29 - 1, zoom: 29)
    #expect(try Tile(morton: last.morton) == last && last.packedKey == nil)
  }

  /// Promises: T-10
  @Test("The stored description of a tile is read, and rejected with another's quadkey")
  func descriptors() throws {
    let good = #"{"X":10472,"Y":22982,"ZoomLevel":16,"QuadKey":"0212300233101220","Id":"0212300233101220"}"#
    #expect(try Tile(descriptor: JSONValue(parsing: good)) == Tile(x: 10472, y: 22982, zoom: 16))
    #expect(try Tile(descriptor: ["X": 0, "Y": 0, "ZoomLevel": 0]) == Tile(x: 0, y: 0, zoom: 0))
    for bad: JSONValue in [
      ["X": 10473, "Y": 22982, "ZoomLevel": 16, "QuadKey": "0212300233101220"], ["X": 1, "Y": 2],
      ["X": 1.5, "Y": 0, "ZoomLevel": 2], ["X": 65536, "Y": 0, "ZoomLevel": 16], [1], .null,
      ["X": 0, "Y": 0, "ZoomLevel": 1, "QuadKey": "0", "Id": "1"],
    ] { #expect(throws: BothyError.self) { try Tile(descriptor: bad) } }
  }

  /// Promises: R-34
  @Test("Columns wrap around the world, and rows beyond the map are rejected or clamped")
  func wrapping() throws {
    let third = try Tile(x: 3, y: 5, zoom: 16)
    #expect(try Tile(wrappingX: 65536 + 3, y: 5, zoom: 16) == third)
    #expect(try Tile(wrappingX: 3 - 65536 * 7, y: 5, zoom: 16) == third)
    #expect(try Tile(wrappingX: -1, y: 0, zoom: 16).x == 65535)
    #expect(try Tile(wrappingX: .min, y: 0, zoom: 29).x == 0)
    #expect(throws: BothyError.self) { try Tile(wrappingX: 0, y: 65536, zoom: 16) }
    #expect(throws: BothyError.self) { try Tile(wrappingX: 0, y: -1, zoom: 16) }
    #expect(Tile(normalizingX: -1, y: .max, zoom: 2).description == "2/3/3")
    #expect(Tile(normalizingX: .max, y: .min, zoom: .max).description == "29/\(1 << 29 - 1)/0")
    #expect(third.neighbor(east: -4, south: -5)?.description == "16/65535/0")
    #expect(third.neighbor(east: 0, south: -6) == nil && third.neighbor(east: .max, south: .max) == nil)
  }

  @Test("Children are quarters of their parent, and ancestors contain them with their part")
  func families() throws {
    var generator = SeededGenerator(seed: 4)
    for _ in 0..<2_000 {
      let tile = Self.random(&generator)
      for (digit, child) in tile.children.enumerated() {
        #expect(child.parent == tile && tile.contains(child) && !child.contains(tile))
        #expect(child.quadkey == tile.quadkey + "\(digit)")
      }
      #expect(tile.ancestors.count == tile.zoom && tile.ancestors.allSatisfy { $0.contains(tile) })
    }
    let world = try Tile(x: 0, y: 0, zoom: 0)
    #expect(world.parent == nil && world.ancestor(atZoom: -1) == nil && world.ancestor(atZoom: 1) == nil)
    #expect(try Tile(x: 0, y: 0, zoom: 29).children.isEmpty)
    let deep = try Tile(x: 13, y: 6, zoom: 4)
    #expect(deep.part(of: try Tile(x: 3, y: 1, zoom: 2)) == TilePart(x: 0.25, y: 0.5, size: 0.25))
    #expect(try deep.part(of: deep) == .whole && deep.part(of: Tile(x: 0, y: 0, zoom: 2)) == nil)
  }

  /// Promises: R-35
  @Test(
    "A fractional zoom is rounded to the source, and others rejected or replaced"
  )
  func zooms() throws {
    let range = try ZoomRange(2, 5)
    #expect(
      [-.infinity, 1.4, 2.4, 2.5, 4.9, 5.2, .infinity, .nan].map(range.nearest) == [2, 2, 2, 3, 5, 5, 5, 2])
    let deep = try Tile(x: 97, y: 0, zoom: 7)
    let error = #expect(throws: BothyError.self) { try range.check(deep) }
    #expect(error?.code == .zoomOutOfRange)
    try range.check(try Tile(x: 0, y: 0, zoom: 2))
    let stand = try #require(range.stand(in: deep))
    #expect(stand.tile.description == "5/24/0" && stand.part == TilePart(x: 0.25, y: 0, size: 0.25))
    #expect(range.stand(in: try Tile(x: 0, y: 0, zoom: 1)) == nil)
    for (low, high) in [(3, 2), (-1, 4), (0, 30)] {
      #expect(throws: BothyError.self) { try ZoomRange(low, high) }
    }
  }

  /// Promises: R-15
  @Test("Each scheme names a tile in its own way, rows from the south included")
  func schemes() throws {
    let tile = try Tile(x: 10498, y: 22889, zoom: 16)
    #expect(TileScheme.xyz.path(of: tile) == "16/10498/22889")
    #expect(TileScheme.tms.path(of: tile) == "16/10498/42646")
    #expect(TileScheme.quadkey.path(of: tile) == "0212300302202012")
    #expect(TileScheme.tileCache.path(of: tile) == "16/000/010/498/000/042/646")
    #expect(TileScheme.custom { "\($0.y)_\($0.x)" }.path(of: tile) == "22889_10498")
    let world = try Tile(x: 0, y: 0, zoom: 0)
    #expect(TileScheme.tms.path(of: world) == "0/0/0" && TileScheme.quadkey.path(of: world) == "")
    #expect(try Tile(x: 0, southernRow: 0, zoom: 3).y == 7)
    for row in [-1, 8, .max, .min] {
      #expect(throws: BothyError.self) { try Tile(x: 0, southernRow: row, zoom: 3) }
    }
    let edges = try Tile(x: 1, y: 0, zoom: 1).projectedBounds
    #expect(edges.west == 0 && edges.south == 0)
    #expect(abs(edges.east - 20_037_508.342789244) < 1e-6 && abs(edges.north - 20_037_508.342789244) < 1e-6)
  }

  @Test(
    "Archive ids follow the Hilbert curve from neighbour to neighbour, each tile once")
  func hilbert() throws {
    let vectors = [(0, 0, 0, 0), (1, 0, 0, 1), (1, 0, 1, 2), (1, 1, 1, 3), (1, 1, 0, 4), (2, 0, 0, 5)]
    for (zoom, x, y, id) in vectors + [(12, 3423, 1763, 19_078_479)] {
      #expect(try Tile(x: x, y: y, zoom: zoom).hilbertID == UInt64(id))
    }
    var id: UInt64 = 0
    for zoom in 0...6 {
      var seen: Set<Tile> = []
      var previous: Tile?
      for _ in 0..<1 << (2 * zoom) {
        let tile = try Tile(hilbertID: id)
        #expect(tile.zoom == zoom && seen.insert(tile).inserted)
        if let previous { #expect(abs(previous.x - tile.x) + abs(previous.y - tile.y) == 1) }
        previous = tile
        id += 1
      }
    }
    #expect(throws: BothyError.self) { try Tile(hilbertID: .max) }
    #expect(throws: BothyError.self) { try Tile(hilbertID: (1 << 60 - 1) / 3) }
    #expect(try Tile(hilbertID: (1 << 60 - 1) / 3 - 1).zoom == 29)
  }
}
