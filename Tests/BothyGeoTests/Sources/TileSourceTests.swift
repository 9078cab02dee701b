import BothyCache
import BothyGeo
import BothyStore
import Testing

@Suite("Sources of tiles", .timeLimit(.minutes(5)))
struct TileSourceTests {
  /// Promises: R-42
  @Test(
    "A TileJSON document becomes a source that doesn't allow loading in bulk"
  )
  func tileJSON() throws {
    let document = try TileJSON(
      json: """
        {"tilejson": "3.0.0", "name": "Hills", "attribution": "© walkers", "scheme": "tms", "minzoom": 3, "maxzoom": 14,
         "bounds": [-10, -20, 30, 40], "tiles": ["https://a.test/t/{z}/{x}/{y}.png", "https://b.test/t/{z}/{x}/{y}.png"]}
        """)
    #expect(document.bounds == GeoBox(west: -10, south: -20, east: 30, north: 40))
    let source = try document.source("hills")
    #expect(source.hosts == ["a.test", "b.test"] && source.zooms == 3...14 && !source.allowsBulkDownload)
    #expect(source.names.attribution == "© walkers" && source.names.short == "Hills")
    let tile = try Tile(x: 1, y: 2, zoom: 3)
    #expect(source.publicURL(for: try source.key(tile), host: 1) == "https://b.test/t/3/1/5.png")
    #expect(source.publicURL(for: try source.key(tile), host: 0) == "https://a.test/t/3/1/5.png")
    #expect(Tile(try source.key(tile)) == tile && Tile(ResourceKey("hills", path: "3/1/2")) == nil)
    #expect(throws: BothyError.self) { try source.key(try Tile(x: 0, y: 0, zoom: 15)) }
    let plain = try TileJSON(json: #"{"tiles": ["https://c.test/{z}/{x}/{y}"]}"#).source("plain")
    #expect(plain.zooms == 0...22 && plain.hosts.isEmpty)
    #expect(plain.publicURL(for: try plain.key(tile)) == "https://c.test/3/1/2")
  }

  private static let forms: [(String, TileForm?)] = [
    (#""format": "png""#, .picture), (#""format": "pbf""#, .vector), (#""format": "geojson""#, .json),
    (#""format": "webp", "vector_layers": []"#, .picture), (#""vector_layers": []"#, .vector),
    (#""tileSize": 512"#, .picture), (#""type": "raster-dem", "encoding": "terrarium""#, .picture),
    (#""type": "vector""#, .vector), (#""type": "vector", "encoding": "mlt""#, nil),
    (#""format": "mlt""#, nil), (#""name": "plain""#, nil),
  ]

  @Test(
    "A document states the form of the tiles, whatever their addresses are", arguments: Self.forms)
  func form(_ member: String, _ form: TileForm?) throws {
    let document = try TileJSON(json: "{\"tiles\": [\"https://c.test/{z}/{x}/{y}\"], \(member)}")
    #expect(try document.source("tiles").tileForm == form)
  }

  @Test("A document may end at zoom 30, beyond the last zoom of tiles", arguments: [29, 30])
  func lastZoom(zoom: Int) throws {
    let text = "{\"tiles\": [\"https://c.test/{z}/{x}/{y}\"], \"minzoom\": 2, \"maxzoom\": \(zoom)}"
    #expect(try TileJSON(json: text).source("tiles").zooms == 2...29)
  }

  @Test(
    "A document that contradicts itself is rejected",
    arguments: [
      "", "{}", #"{"tiles": []}"#, #"{"tiles": [1]}"#,
      #"{"tiles": ["https://a.test/{z}/{x}/{y}"], "scheme": "abc"}"#,
      #"{"tiles": ["https://a.test/{z}/{x}/{y}"], "minzoom": 5, "maxzoom": 3}"#,
      #"{"tiles": ["https://a.test/{z}/{x}/{y}"], "minzoom": "5"}"#,
      #"{"tiles": ["https://a.test/{z}/{x}/{y}"], "bounds": [1, 2]}"#,
      #"{"tiles": ["https://a.test/{z}/{x}/{y}"], "bounds": [1, 9, 2, 3]}"#,
    ])
  func badDocuments(text: String) {
    #expect(throws: BothyError.self) { try TileJSON(json: text) }
  }

  /// Promises: R-15
  @Test("A source may count in any scheme, and keys don't change")
  func schemes() throws {
    let tile = try Tile(x: 10498, y: 22889, zoom: 16)
    let rule = TileScheme.tileCache.rule("tilecache", base: "https://{s}.test/cache", fileExtension: "png")
    let source = try ResourceSource("old", address: .custom(rule), hosts: ["a", "b"], userAgent: "Test/1")
    let key = try source.key(tile)
    #expect(source.publicURL(for: key, host: 1) == "https://b.test/cache/16/000/010/498/000/042/646.png")
    #expect(key == tile.key(in: "old"))
    let south = try ResourceSource("tms", template: "https://a.test/{z}/{x}/{-y}.png")
    #expect(south.publicURL(for: try south.key(tile)) == "https://a.test/16/10498/42646.png")
    let quad = try ResourceSource("quad", template: "https://a.test/{q}.jpg")
    #expect(quad.publicURL(for: try quad.key(tile)) == "https://a.test/0212300302202012.jpg")
  }

  /// Promises: B-3, R-34
  @Test(
    "Beyond the antimeridian the first column is requested, and its places are found"
  )
  func beyondTheMap() throws {
    let source = try ResourceSource("places", template: "https://tiles.test/tiles/{z}/{x}/{y}.json")
    // The response of a server that doesn't check its numbers: five places in column 0, and none in 65536.
    let places = (1...5).map {
      TileDocument.feature(
        "amenity", "cafe", ids: "[\($0)]", geometry: TileDocument.shape("Point", "[-179.999, -16.8]"),
        properties: #"{"name": "Cafe \#($0)"}"#)
    }
    func answer(_ url: String) -> String {
      url.contains("/16/0/35870.json")
        ? #"{"features": [\#(places.joined(separator: ", "))]}"# : TileDocument.tile()
    }
    var union = FeatureUnion()
    var requests: [String] = []
    let place = Coordinate(latitude: -16.8, longitude: 179.9999)
    for tile in try TileGrid(around: place, radius: 500, zoom: 16).tiles(nearestTo: place) {
      let url = source.publicURL(for: try source.key(tile))
      requests.append(url)
      union.set(tile, try GeoJSONTile(decoding: answer(url)), receivedAt: 1)
    }
    #expect(requests.count == 4 && !requests.contains { $0.contains("65536") || $0.contains("/-") })
    let first = try Tile(x: 0, y: 35870, zoom: 16)
    #expect(union.features.count == 5 && union.features.keys.allSatisfy { union.tiles(of: $0) == [first] })
    #expect(try source.key(zoom: 16, x: 65536, y: 35870) == source.key(first))
    #expect(throws: BothyError.self) { try Tile(x: 65536, y: 35870, zoom: 16) }
    #expect(throws: BothyError.self) { try source.key(zoom: 16, x: 0, y: -9) }
  }
}
