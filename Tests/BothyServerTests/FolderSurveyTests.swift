import BothyGeo
import BothyServer
import BothyTestSupport
import Foundation
import HTTPTypes
import Testing

@Suite("Surveys of folders of tiles", .timeLimit(.minutes(5)))
struct FolderSurveyTests {
  private let folder: TileFolderUnderTest
  private let column = "walks/16/18109"
  /// A time that no change of a folder will have.
  private let past = 1_700_000_000.0

  init() throws {
    folder = try TileFolderUnderTest()
    try folder.write("\(column)/23965.json", "{}")
    try folder.touch(column, at: past)
  }

  /// Runs a server of the folder. The call returns the bounds that the TileJSON of the tiles states.
  private func withBounds(
    _ body: @Sendable (@Sendable () async throws -> GeoBox) async throws -> Void
  ) async throws {
    var server = try ServerUnderTest()
    server.configuration.tiles = try TileFolder(folder: folder.path)
    try await server.run { call in
      try await body { try TileJSON(json: try await call(.get, "/tiles/walks.json").bytes).bounds }
    }
  }

  private func bounds(_ rows: ClosedRange<Int>) throws -> GeoBox {
    let (north, south) = (
      try Tile(x: 18109, y: rows.lowerBound, zoom: 16).bounds,
      try Tile(x: 18109, y: rows.upperBound, zoom: 16).bounds
    )
    return GeoBox(west: north.west, south: south.south, east: north.east, north: north.north)
  }

  @Test("A folder is listed again only if it has changed")
  func unchanged() async throws {
    let (one, two) = (try bounds(23965...23965), try bounds(23965...23966))
    try await withBounds { read in
      #expect(try await read() == one)
      try folder.write("\(column)/23966.json", "{}")
      #expect(try await read() == two)
      try folder.touch(column, at: past)
      #expect(try await read() == one, "it is as it was known")
      try FileManager.default.removeItem(atPath: "\(folder.path)/\(column)/23965.json")
      #expect(try await read() == bounds(23966...23966))
    }
  }

  @Test("A folder behind a link is listed again only if that folder has changed")
  func linked() async throws {
    let files = FileManager.default
    try files.moveItem(atPath: "\(folder.path)/\(column)", toPath: "\(folder.path)/.elsewhere")
    try files.createSymbolicLink(
      atPath: "\(folder.path)/\(column)", withDestinationPath: "\(folder.path)/.elsewhere")
    try folder.touch(".elsewhere", at: past)
    let (one, two) = (try bounds(23965...23965), try bounds(23965...23966))
    try await withBounds { read in
      #expect(try await read() == one)
      try folder.write(".elsewhere/23966.json", "{}")
      #expect(try await read() == two)
      try folder.touch(".elsewhere", at: past)
      #expect(try await read() == one, "it is as it was known")
    }
  }

  @Test("A column of one source may be a zoom of another")
  func nested() async throws {
    let tile = try Tile(x: 18, y: 11, zoom: 5)
    try folder.write("5/18/11.json", "{}")
    for name in ["5/18", "5"] { try folder.touch(name, at: past) }
    let own = URL(filePath: folder.path).lastPathComponent
    var server = try ServerUnderTest()
    server.configuration.tiles = try TileFolder(folder: folder.path)
    try await server.run { call in
      #expect(try await call(.get, "/tiles/5.json").status == 404)
      let found = try TileJSON(json: try await call(.get, "/tiles/\(own).json").bytes)
      #expect(found.bounds == tile.bounds)
    }
  }

  @Test("A folder whose time may be that of a later change is listed again")
  func recent() async throws {
    try folder.touch(column, at: 4_000_000_000)
    let (one, two) = (try bounds(23965...23965), try bounds(23965...23966))
    try await withBounds { read in
      #expect(try await read() == one)
      try folder.write("\(column)/23966.json", "{}")
      try folder.touch(column, at: 4_000_000_000)
      #expect(try await read() == two)
    }
  }

  @Test("Archives beyond those that stay open are listed without opening them again")
  func archives() async throws {
    let folder = try TileFolderUnderTest()
    let names = (10..<76).map { "hills\($0)" }
    for name in names {
      try folder.mbtiles(name, [Tile(x: 0, y: 0, zoom: 1): Data([0x89, 0x50, 0x4E, 0x47])], format: "png")
      try folder.touch(name + ".mbtiles", at: past)
    }
    var server = try ServerUnderTest()
    server.configuration.tiles = try TileFolder(folder: folder.path)
    try await server.run { call in
      let list = try await call(.get, "/tiles").json()
      #expect(list["sources"]?.arrayValue?.compactMap { $0["id"]?.stringValue } == names)
      for name in names {
        // The file is another one and looks the same.
        let file = try FileHandle(forWritingTo: URL(filePath: "\(folder.path)/\(name).mbtiles"))
        try file.write(contentsOf: Data(count: 100))
        try file.close()
        try folder.touch(name + ".mbtiles", at: past)
      }
      #expect(try await call(.get, "/tiles").json() == list)
    }
  }
}
