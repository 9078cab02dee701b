import BothyGeo
import Foundation

/// Raster tiles of a coast: a quarter is the same sea, and the others differ. They have the first bytes of PNG files.
struct Coast {
  private(set) var bodies: [Data] = []
  /// The bytes of all contents, each of them once.
  private(set) var bare: Int

  init(_ count: Int) {
    let sea = Self.picture(-1, size: 103)
    var state: UInt64 = 1
    bare = sea.count
    bodies.reserveCapacity(count)
    for number in 0..<count {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let chance = Int(state >> 40)
      // Small sizes are more frequent than large ones.
      let size = 2000 + chance % 10_000 + (chance >> 4) % 10_000 * ((chance >> 8) % 4) / 2
      let isSea = number < count / 4
      if !isSea { bare += size }
      bodies.append(isSea ? sea : Self.picture(number, size: size))
    }
  }

  /// Returns bytes that begin as a PNG picture does.
  static func picture(_ number: Int, size: Int) -> Data {
    var body = Tiles.body(number, size: size)
    body.replaceSubrange(0..<8, with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
    return body
  }

  /// Writes an archive of each kind with the tiles, numbered as in `Tiles.key`. Returns their names and paths.
  func write(in folder: String, by program: ArchiveProgram) throws -> [(name: String, path: String)] {
    try ["MBTiles", "PMTiles"].map { name in
      let kind = name.lowercased()
      let path = "\(folder)/coast.\(kind)"
      try program.write(bodies.count, to: path, as: kind, named: "Coast") { number in
        (tile: try Tile(x: number / 256, y: number % 256, zoom: 16), body: bodies[number])
      }
      return (name: name, path: path)
    }
  }
}
