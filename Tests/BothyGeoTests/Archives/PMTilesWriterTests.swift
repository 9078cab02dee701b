import BothyGeo
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

@Suite("Writing PMTiles", .timeLimit(.minutes(5)))
struct PMTilesWriterTests {
  private let scratch: TemporaryFolder

  init() throws { scratch = try TemporaryFolder() }

  private func archive(_ name: String) async throws -> PMTiles {
    try await PMTiles(FileRangeSource(path: scratch.file(name)))
  }

  private func number(_ offset: Int, in header: Data) -> UInt64 {
    (0..<8).reduce(0) { $0 | UInt64(header[offset + $1]) << UInt64(8 * $1) }
  }

  @Test("An archive has the tiles of a table, whatever is added in whatever order", arguments: 1...30)
  func model(seed: UInt64) async throws {
    var generator = SeededGenerator(seed: seed)
    let path = scratch.file("\(seed)")
    let writer = try PMTilesWriter(path: path)
    var model: [Tile: Data] = [:]
    let deepest = Int.random(in: 0...9, using: &generator)
    for _ in 0..<Int.random(in: 1...600, using: &generator) {
      let zoom = Int.random(in: 0...deepest, using: &generator)
      let side = 1 << zoom
      let tile = try Tile(
        x: .random(in: 0..<min(side, 16), using: &generator), y: .random(in: 0..<side, using: &generator),
        zoom: zoom)
      // A few contents that repeat, and some of several kilobytes.
      let kind = UInt8.random(in: 0...20, using: &generator)
      let data = Data(repeating: kind, count: kind < 3 ? 5000 : Int(kind) + 1)
      try writer.add(tile, data)
      model[tile] = data
    }
    try writer.add(Tile(x: 0, y: 0, zoom: deepest), Data())
    #expect(!FileManager.default.fileExists(atPath: path))
    try writer.finish(TileArchiveInfo(container: .pmtiles, tileFormat: "png"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == ["\(seed)"])
    let archive = try await archive("\(seed)")
    var found: [Tile: Data] = [:]
    var order: [UInt64] = []
    try await archive.forEachTile {
      #expect(found.updateValue($1, forKey: $0) == nil)
      order.append($0.hilbertID)
    }
    #expect(found == model && order == order.sorted())
    for (tile, data) in model { #expect(try await archive.data(of: tile) == data) }
    for id in UInt64(0)..<85 {
      let tile = try Tile(hilbertID: id)
      #expect(try await archive.data(of: tile) == model[tile])
    }
    #expect(archive.info.tileCount == model.count)
    #expect(archive.info.contentCount == Set(model.values).count, "replaced contents are left out")
    let zooms = model.keys.map(\.zoom)
    #expect(archive.info.zooms?.lowest == zooms.min() && archive.info.zooms?.highest == zooms.max())
  }

  @Test("Adjacent tiles that share a content are one entry")
  func runs() async throws {
    let writer = try PMTilesWriter(path: scratch.file("sea"))
    for id in (UInt64(0)..<5461).reversed() { try writer.add(Tile(hilbertID: id), Data("sea".utf8)) }
    try writer.finish(TileArchiveInfo(container: .pmtiles))
    let bytes = try Data(contentsOf: URL(fileURLWithPath: scratch.file("sea")))
    #expect(number(72, in: bytes) == 5461 && number(80, in: bytes) == 1 && number(88, in: bytes) == 1)
    #expect(bytes.count < 300)
    #expect(try await archive("sea").data(of: Tile(x: 63, y: 63, zoom: 6)) == Data("sea".utf8))
  }

  @Test("An archive of many contents has leaf directories and a root within 16 KB")
  func leaves() async throws {
    var generator = SeededGenerator(seed: 4)
    let writer = try PMTilesWriter(path: scratch.file("large"))
    var model: [UInt64: Data] = [:]
    var id: UInt64 = 0
    for _ in 0..<20_000 {
      id += .random(in: 1...40, using: &generator)
      let data = withUnsafeBytes(of: id) { Data($0) } + Data(count: .random(in: 0...400, using: &generator))
      model[id] = data
      try writer.add(Tile(hilbertID: id), data)
    }
    try writer.finish(TileArchiveInfo(container: .pmtiles))
    let bytes = try Data(contentsOf: URL(fileURLWithPath: scratch.file("large")))
    let root = number(8, in: bytes) + number(16, in: bytes)
    #expect(root <= 16_384 && number(48, in: bytes) > 16_384, "leaves take more than there was room")
    #expect(bytes[96] == 1, "contents lie in the order of the tiles")
    let archive = try await archive("large")
    for (id, data) in model where id % 7 == 0 {
      #expect(try await archive.data(of: Tile(hilbertID: id)) == data)
    }
    var count = 0
    try await archive.forEachTile { tile, data in
      #expect(model[tile.hilbertID] == data)
      count += 1
    }
    #expect(count == 20_000)
  }

  @Test("Many tiles have leaf directories even if one directory of them is small")
  func regularTiles() async throws {
    let writer = try PMTilesWriter(path: scratch.file("regular"))
    for id in UInt64(0)..<16_385 { try writer.add(Tile(hilbertID: id), withUnsafeBytes(of: id) { Data($0) }) }
    try writer.finish(TileArchiveInfo(container: .pmtiles))
    let bytes = try Data(contentsOf: URL(fileURLWithPath: scratch.file("regular")))
    #expect(number(16, in: bytes) < 200 && number(48, in: bytes) > 0)
    let last = withUnsafeBytes(of: UInt64(16_384)) { Data($0) }
    #expect(try await archive("regular").data(of: Tile(hilbertID: 16_384)) == last)
  }

  @Test("Metadata of an archive is read back, also through the other format")
  func metadata() async throws {
    let tile = try Tile(x: 2, y: 1, zoom: 3)
    let layers = #"[{"fields":{},"id":"roads"}]"#
    let writer = try MBTilesWriter(path: scratch.file("a.mbtiles"))
    try writer.add(tile, Gzip.pack(Data("roads".utf8)))
    let box = GeoBox(west: -10.5, south: -20, east: 30, north: 40.25)
    try writer.finish(
      TileArchiveInfo(
        container: .mbtiles, name: "Roads", attribution: "© walkers", tileFormat: "pbf", bounds: box,
        metadata: ["json": #"{"vector_layers":\#(layers)}"#, "version": "7"]))
    let first = try MBTiles(path: scratch.file("a.mbtiles"))
    #expect(try await PMTilesWriter.copy(first, to: scratch.file("b.pmtiles")) == 1)
    let second = try await archive("b.pmtiles")
    #expect(second.info.name == "Roads" && second.info.attribution == "© walkers")
    #expect(second.info.tileFormat == "pbf" && second.info.tileCompression == .gzip)
    #expect(second.info.bounds == box && second.info.metadata["vector_layers"] == layers)
    #expect(second.info.metadata["version"] == "7")
    #expect(try await MBTilesWriter.copy(second, to: scratch.file("c.mbtiles")) == 1)
    let third = try MBTiles(path: scratch.file("c.mbtiles"))
    #expect(third.info.metadata["json"] == #"{"vector_layers":\#(layers)}"#)
    #expect(try await third.content(of: tile) == Data("roads".utf8))
  }

  @Test("An existing file is left alone, and an unfinished one leaves nothing behind")
  func failures() async throws {
    let taken = scratch.file("taken")
    try Data("mine".utf8).write(to: URL(fileURLWithPath: taken))
    #expect(#expect(throws: BothyError.self) { try PMTilesWriter(path: taken) }?.code == .unavailable)
    let nowhere = #expect(throws: BothyError.self) { try PMTilesWriter(path: scratch.file("no/where")) }
    #expect(nowhere?.code == .unavailable)
    let half = try PMTilesWriter(path: scratch.file("half"))
    try half.add(Tile(x: 0, y: 0, zoom: 0), Data("x".utf8))
    try half.cancel()
    let empty = try PMTilesWriter(path: scratch.file("empty"))
    #expect(throws: BothyError.self) { try empty.finish(TileArchiveInfo(container: .pmtiles)) }
    try empty.cancel()
    var damaged = try ArchiveBuilder(tiles: [Tile(x: 0, y: 0, zoom: 0): Data("x".utf8)]).build()
    // Its zooms differ from that of its tile.
    (damaged[100], damaged[101]) = (1, 1)
    try damaged.write(to: URL(fileURLWithPath: scratch.file("damaged")))
    let source = try await archive("damaged")
    await #expect(throws: BothyError.self) {
      try await PMTilesWriter.copy(source, to: scratch.file("copy"))
    }
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: scratch.path).sorted() == ["damaged", "taken"])
  }

  @Test("A file has one writer at a time", arguments: [TileArchiveInfo.Container.mbtiles, .pmtiles])
  func oneWriter(container: TileArchiveInfo.Container) async throws {
    let (path, tile) = (scratch.file("a"), try Tile(x: 0, y: 0, zoom: 0))
    let first = try TileArchives.writer(to: path, as: container)
    try first.add(tile, Data("first".utf8))
    let second = #expect(throws: BothyError.self) { try TileArchives.writer(to: path, as: container) }
    #expect(second?.code == .unavailable)
    try first.finish(TileArchiveInfo(container: container, tileFormat: "png"))
    #expect(try await TileArchives.open(path: path).content(of: tile) == Data("first".utf8))
    for _ in 0..<2 { try TileArchives.writer(to: path + "2", as: container).cancel() }
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == ["a"])
  }
}
