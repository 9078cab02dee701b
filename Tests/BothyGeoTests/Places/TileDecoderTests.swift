import BothyCore
import BothyGeo
import BothyStore
import BothyTestSupport
import Foundation
import Testing

@Suite("Tiles in a format of the app's own", .timeLimit(.minutes(5)))
struct TileDecoderTests {
  /// Reads a line for each hut: its latitude, its longitude and its name.
  private struct HutLines: TileDecoder {
    struct NoHut: Error {}

    var kind = "wilderness_hut"

    func features(in payload: Data, of tile: Tile, categories: CategoryTable) throws -> [TileFeature] {
      var huts: [String] = []
      for line in String(decoding: payload, as: UTF8.self).split(separator: "\n") {
        let parts = line.split(separator: " ")
        guard parts.count == 3 else { throw NoHut() }
        let place = TileDocument.shape("Point", "[\(parts[1]), \(parts[0])]")
        huts.append(
          #"{"type": "Feature", "geometry": \#(place), "properties": {"tourism": "\#(kind)", "name": "\#(parts[2])"}}"#
        )
      }
      return try TileFeature.decode(geoJSON: Data(TileDocument.tile(huts).utf8), categories: categories)
    }
  }

  private let scratch: TemporaryFolder
  private let tile: Tile
  private let corrour = Data("56.76 -4.69 Corrour\n56.79 -4.68 Staoineag\n".utf8)

  init() throws {
    scratch = try TemporaryFolder()
    tile = try Tile(containing: Coordinate(latitude: 56.76, longitude: -4.69), zoom: 10)
  }

  private func places(_ decoder: HutLines = HutLines(), version: Int = 1) throws -> PlaceStore {
    try PlaceStore(path: scratch.file("huts.sqlite"), decoder: decoder, decoderVersion: version)
  }

  @Test("Places come from the app's decoder, and a bad tile replaces none")
  func read() throws {
    // The second line is in a gzip member of its own (RFC 1952 §2.2).
    let members = try Gzip.pack(corrour.prefix(20)) + Gzip.pack(corrour.dropFirst(20))
    for payload in [corrour, try Gzip.pack(corrour), members] {
      let places = try places()
      try places.replace(tile, payload: payload, receivedAt: 1)
      #expect(try places.search("corrour").map(\.value) == ["wilderness_hut"])
      let error = #expect(throws: BothyError.self) {
        try places.replace(tile, payload: Data("<html>sign in".utf8), receivedAt: 2)
      }
      #expect(error?.code == .notATile && error?.underlying is HutLines.NoHut)
      #expect(error?.message.contains("HutLines") == true)
      #expect(try places.search("staoineag").count == 1 && places.payload(of: tile) == payload)
      try places.clear()
      try places.close()
    }
  }

  @Test("Tiles are read anew by another version of the decoder, and kept without it")
  func versions() throws {
    var open = try places()
    try open.replace(tile, payload: corrour, receivedAt: 1)
    try open.close()
    open = try places(HutLines(kind: "alpine_hut"))
    #expect(try open.search("corrour").map(\.value) == ["wilderness_hut"])
    try open.close()
    open = try places(HutLines(kind: "alpine_hut"), version: 2)
    #expect(try open.search("corrour").map(\.value) == ["alpine_hut"])
    try open.close()
    open = try PlaceStore(path: scratch.file("huts.sqlite"))
    #expect(try open.search("corrour").map(\.value) == ["alpine_hut"], "the known formats can't read it")
    #expect(try open.held([tile]) == [tile: PlaceTile.never])
    try open.close()
    open = try places(HutLines(kind: "alpine_hut"), version: 2)
    #expect(try open.held([tile]) == [tile: 1] && open.payload(of: tile) == corrour)
  }
}
