import BothyCache
import BothyGeo
import BothyStore
import Foundation
import HTTPTypes
import Testing

@Suite("Archives and the cache")
struct ArchiveTransferTests {
  @Test(
    "Tiles of an archive come into the cache unpacked, and go out into an archive packed, equal ones once")
  func thereAndBack() async throws {
    let scratch = try Scratch()
    let path = scratch.file("in.mbtiles")
    let writer = try MBTilesWriter(path: path)
    var contents: [Tile: Data] = [:]
    for id in UInt64(0)..<341 {
      let tile = try Tile(hilbertID: id)
      contents[tile] = Data("roads \(id % 40)".utf8)
      try writer.add(tile, ArchiveBuilder.gzip(Data("roads \(id % 40)".utf8)))
    }
    try writer.finish(TileArchiveInfo(container: .mbtiles, name: "Roads", tileFormat: "pbf"))
    let archive = try MBTiles(path: path)
    let store = try SQLiteBlobStore(path: scratch.file("cache.sqlite"))
    let time = Timestamp(milliseconds: 1_700_000_000_000)
    let report = try await archive.copy(into: store, as: "roads", at: time)
    #expect(report.written == 341 && report.left.isEmpty)
    for (tile, content) in contents {
      let entry = try #require(try store.entry(tile.key(in: "roads")))
      #expect(entry.body == content && entry.metadata.receivedAt == 1_700_000_000_000)
      #expect(entry.metadata.fields[.contentType] == "application/vnd.mapbox-vector-tile")
    }
    let wanted = contents.keys.sorted().filter { $0.zoom == 4 } + [try Tile(x: 0, y: 0, zoom: 9)]
    let out = try MBTilesWriter.export(
      wanted, of: "roads", from: store, to: scratch.file("out.mbtiles"),
      TileArchiveInfo(container: .mbtiles, name: "Out", tileFormat: "pbf"))
    #expect(out.written == 256 && out.left.map(\.description) == ["9/0/0"])
    let result = try MBTiles(path: scratch.file("out.mbtiles"))
    #expect(result.info.tileCount == 256 && result.info.contentCount == 40)
    for tile in wanted.dropLast() { #expect(try await result.content(of: tile) == contents[tile]) }
    try store.close()
  }
}
