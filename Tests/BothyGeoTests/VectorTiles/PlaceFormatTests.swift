import BothyCore
import BothyGeo
import BothyStore
import BothyTestSupport
import Foundation
import Testing

@Suite("Places from vector tiles", .timeLimit(.minutes(5)))
struct PlaceFormatTests {
  typealias Writer = VectorTileWriter
  typealias Feature = VectorTileWriter.Feature

  private let scratch: TemporaryFolder
  private let west: Tile
  private let east: Tile

  init() throws {
    scratch = try TemporaryFolder()
    west = try Tile(x: 8681, y: 4767, zoom: 14)
    east = try Tile(x: 8682, y: 4767, zoom: 14)
  }

  private var path: String { scratch.file("places.sqlite") }
  private let anyName = PlaceFilter(includesUnnamed: true)

  private func street(_ places: [(Int64, Int64)], _ name: String, id: UInt64) -> Feature {
    .line(places, id: id, [("class", .string("minor")), ("name", .string(name))])
  }

  /// Returns a tile of the Soundscape schema: a street to the eastern edge, or from the western one, and one across it.
  private func payload(isWest: Bool) -> Data {
    var writer = Writer()
    let main: [(Int64, Int64)] =
      isWest ? [(3000, 2000), (3500, 2000), (4160, 2000)] : [(-64, 2000), (500, 2000), (900, 2000)]
    let place: Int64 = isWest ? 3500 : 500
    let across: [(Int64, Int64)] = [(place, 1900), (place, 2000), (place, 2100)]
    writer.layer(
      "transportation",
      [street(main, "Long Street", id: 772), street(across, "Lane", id: isWest ? 782 : 792)])
    writer.layer(
      "poi",
      [
        .point(
          place, 1990, id: isWest ? 51 : 61,
          [("class", .string("cafe")), ("name", .string("Café \(isWest)"))]),
        // In the margin of the western tile, and in the eastern one.
        .point(
          isWest ? 4100 : 4, 1800, id: 71, [("class", .string("bar")), ("name", .string("Border Bar"))]),
      ])
    return Data(writer.bytes)
  }

  private func position(_ x: Double, _ y: Double = 2000, in tile: Tile) -> Coordinate {
    let box = tile.bounds
    return Coordinate(
      latitude: box.north + (box.south - box.north) * y / 4096,
      longitude: box.west + (box.east - box.west) * x / 4096)
  }

  /// Stores a tile of the Shortbread schema, which has no ids, with a street and parks.
  private func store(
    _ parks: [[(Int64, Int64)]], _ name: String?, in tile: Tile, _ places: PlaceStore
  ) throws {
    var properties: [(String, Writer.Value)] = [("kind", .string("park"))]
    if let name { properties.append(("name", .string(name))) }
    var writer = Writer()
    writer.layer(
      "street_labels",
      [.line([(1, 1), (5, 5)], [("kind", .string("residential")), ("name", .string("A"))])])
    writer.layer("land", parks.map { .area([$0], properties) })
    try places.replace(tile, payload: Data(writer.bytes), receivedAt: 1)
  }

  /// Promises: T-49
  @Test(
    "An area without an id is found once, and its neighbor apart", arguments: [nil, "Green"] as [String?])
  func areasWithoutIDs(name: String?) throws {
    let places = try PlaceStore(path: path)
    for (tile, left, right) in [(west, 3900, 4160), (east, -64, 300)] as [(Tile, Int64, Int64)] {
      let parks: [[(Int64, Int64)]] = [1950, 2600].map { top in
        [(left, top), (right, top), (right, top + 100), (left, top + 100)]
      }
      try store(parks, name, in: tile, places)
    }
    for (tile, x) in [(west, 4000.0), (west, 4095), (east, 10), (east, 200)] {
      #expect(try places.areas(containing: position(x, in: tile), anyName).count == 1, "\(x)")
    }
    let center = position(1000, in: east)
    let near = try places.nearest(5, to: center, anyName)
    #expect(near.count == 2 && near.allSatisfy { $0.feature.cutBy == east })
    #expect(try places.within(radius: 3000, of: center, anyName).map(\.feature.cutBy) == [east, east])
    if let name { #expect(try places.search(name).count == 2) }
    try places.remove([east])
    #expect(try places.nearest(5, to: center, anyName).map(\.feature.cutBy) == [west, west])
  }

  /// Promises: T-49
  @Test(
    "Streets of one name and places of one id are apart in other tiles", arguments: [50, 4150])
  func apart(end: Int) throws {
    let places = try PlaceStore(path: path)
    let away = try Tile(x: 8700, y: 4767, zoom: 14)
    let lane: [(Int64, Int64)] = [(10, 10), (Int64(end), 50)]
    for tile in [west, east, away] {
      var writer = Writer()
      writer.layer(
        "street_labels",
        [.line(lane, [("kind", .string("residential")), ("name", .string("Mill Lane"))])])
      let green: [(String, Writer.Value)] = [("kind", .string("park")), ("name", .string("Green"))]
      writer.layer("land", [.area([[(100, 100), (200, 100), (200, 200), (100, 200)]], id: 7, green)])
      let kiosk: [(String, Writer.Value)] = [("shop", .string("kiosk")), ("name", .string("Kiosk"))]
      writer.layer("pois", [.point(300, 300, id: 7, kiosk)])
      try places.replace(tile, payload: Data(writer.bytes), receivedAt: 1)
    }
    let roads = PlaceFilter(layers: [.road])
    #expect(try places.search("mill", roads).count == 2, "the one in the neighbor may be the same")
    #expect(try places.search("green").count == 3)
    #expect(try places.search("kiosk").count == 3)
    for tile in [west, east, away] {
      let near = try places.nearest(1, to: position(30, 30, in: tile), roads)
      #expect(near.count == 1 && near.allSatisfy { $0.distance < 50 })
    }
    try places.remove([east, away])
    #expect(try places.search("green").count == 1 && places.search("kiosk").count == 1)
  }

  @Test("Arms of an area are one place although their joint is farther away")
  func arms() throws {
    let places = try PlaceStore(path: path)
    let far = try Tile(x: 8683, y: 4767, zoom: 14)
    let left: [(Int64, Int64)] = [
      (3900, 50), (3950, 50), (3950, 4000), (4160, 4000), (4160, 4050), (3900, 4050),
    ]
    let right: [(Int64, Int64)] = [
      (-64, 4000), (146, 4000), (146, 50), (196, 50), (196, 4050), (-64, 4050),
    ]
    try store([left], nil, in: west, places)
    try store([[(-64, 4000), (4160, 4000), (4160, 4050), (-64, 4050)]], nil, in: east, places)
    try store([right], nil, in: far, places)
    for x in [1900.0, 2200] {
      let near = try places.nearest(5, to: position(x, 100, in: east), anyName)
      #expect(near.map(\.feature.cutBy) == [x < 2000 ? west : far])
    }
    try places.remove([east])
    let apart = try places.nearest(5, to: position(2048, 100, in: east), anyName)
    #expect(apart.count == 2, "nothing joins them")
  }

  /// Promises: T-49
  @Test("Searches, the nearest and intersections work across the edges of vector tiles")
  func queries() throws {
    let places = try PlaceStore(path: path)
    try places.replace(west, payload: payload(isWest: true), receivedAt: 1)
    try places.replace(east, payload: payload(isWest: false), receivedAt: 2)
    #expect(try places.search("border").map(\.ids) == [[7]])
    #expect(try places.search("cafe").map(\.category) == [.place, .place])
    let roads = PlaceFilter(layers: [.road])
    #expect(try places.search("long", roads).map(\.ids) == [[-77]])
    let road = try #require(try places.road(-77))
    #expect(road.geometry.outline.count == 6 && road.cutBy == nil)
    #expect(try places.features(FeatureKey(.road, "-77")).map(\.cutBy) == [west, east])
    #expect(try places.intersections(ofRoad: -77).map(\.roads) == [[-78, -77], [-79, -77]])
    for (tile, x) in [(west, 3400.0), (east, 600)] {
      let near = try places.nearest(2, to: position(x, in: tile), roads)
      #expect(near.map(\.feature.ids) == [[-77], [tile == west ? -78 : -79]])
      #expect(near[0].distance < 5)
      #expect(try places.within(radius: 200, of: position(x, in: tile), roads).map(\.feature.ids).count == 2)
    }
    let box = GeoBox(
      west: west.bounds.west, south: west.bounds.south, east: east.bounds.east, north: west.bounds.north)
    #expect(try places.in(box: box, roads).map(\.ids) == [[-77], [-78], [-79]])
    try places.remove([east])
    #expect(try places.road(-77)?.geometry.outline.count == 3)
    #expect(try places.search("border").isEmpty)
  }

  @Test("An area that an edge cuts has positions of both tiles, found once")
  func areas() throws {
    let places = try PlaceStore(path: path)
    for (tile, edges) in [(west, (3900, 4160)), (east, (-64, 300))] as [(Tile, (Int64, Int64))] {
      let ring: [(Int64, Int64)] = [
        (edges.0, 1900), (edges.1, 1900), (edges.1, 2100), (edges.0, 2100),
      ]
      var writer = Writer()
      writer.layer("transportation", [street([(1, 1), (5, 5)], "A", id: 12)])
      writer.layer("poi", [.area([ring], id: 92, [("class", .string("park")), ("name", .string("Green"))])])
      try places.replace(tile, payload: Data(writer.bytes), receivedAt: 1)
    }
    for (tile, x) in [(west, 4000.0), (west, 4095), (east, 10), (east, 200)] {
      #expect(try places.areas(containing: position(x, in: tile)).map(\.ids) == [[-9]], "\(x)")
    }
    #expect(try places.areas(containing: position(500, in: east)).isEmpty)
    #expect(try places.nearest(5, to: position(1000, in: east)).map(\.feature.name) == ["Green"])
  }

  @Test("A tile is read packed with gzip, and stays as received")
  func packed() throws {
    let places = try PlaceStore(path: path)
    let bytes = try Gzip.pack(payload(isWest: true))
    try places.replace(west, payload: bytes, receivedAt: 1)
    #expect(try places.search("cafe").count == 1 && places.payload(of: west) == bytes)
    #expect(throws: BothyError.self) {
      try places.replace(west, payload: try Gzip.pack(bytes), receivedAt: 2)
    }
    #expect(try places.search("cafe").count == 1)
  }

  /// Promises: E-18
  @Test("A tile without bytes has no features, packed or not")
  func empty() throws {
    for payload in [Data(), try Gzip.pack(Data())] {
      let places = try PlaceStore(path: path)
      try places.replace(west, payload: self.payload(isWest: true), receivedAt: 1)
      try places.replace(west, payload: payload, receivedAt: 2)
      #expect(try places.search("cafe").isEmpty && places.payload(of: west) == payload)
      try places.remove([west])
    }
  }

  @Test("GeoJSON may begin with a byte order mark")
  func marked() throws {
    let text =
      #"{"type":"Feature","geometry":{"type":"Point","coordinates":[0,0]},"properties":{"name":"A","shop":"x"}}"#
    let plain = Data(text.utf8)
    let marked = Data([0xEF, 0xBB, 0xBF]) + plain
    let decoder = AnyTileDecoder()
    let features = try decoder.decode(plain, of: west, categories: .common).features
    #expect(features.count == 1)
    for payload in [marked, try Gzip.pack(marked)] {
      #expect(try decoder.decode(payload, of: west, categories: .common).features == features)
    }
    #expect(try GeoJSONTile(decoding: marked).features == features)
  }

  /// Promises: T-51
  @Test("Zstandard, Brotli and pictures are refused by name, and the old tile stays")
  func named() throws {
    let places = try PlaceStore(path: path)
    try places.replace(west, payload: payload(isWest: true), receivedAt: 1)
    let cases: [([UInt8], String)] = [
      ([0x28, 0xB5, 0x2F, 0xFD, 0, 0], "Zstandard"), ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A], "png"),
      (Array("<html>".utf8), "GeoJSON"), ([0x1F, 0x8B, 8, 0], "gzip"),
      ([0x1B, 0x11, 0, 0xF8], "Taken for a vector tile"), ([0xEF, 0xBB, 0xBF, 0x7B], "Taken for GeoJSON"),
    ]
    for (bytes, name) in cases {
      let error = #expect(throws: BothyError.self) {
        try places.replace(west, payload: Data(bytes), receivedAt: 2)
      }
      #expect(error?.code == .notATile && error?.message.contains(name) == true, "\(name)")
    }
    for (coding, name) in [("br", "Brotli"), ("zstd", "Zstandard"), ("compress", "'compress'")] {
      let error = #expect(throws: BothyError.self) { try TileFormat.check(coding: coding) }
      #expect(error?.message.contains(name) == true)
    }
    for coding in [nil, "identity", "gzip"] {
      #expect(throws: Never.self) { try TileFormat.check(coding: coding) }
    }
    #expect(try places.search("cafe").count == 1)
  }

  @Test("Another schema reads stored tiles again, and one that is missing deletes none")
  func schemas() throws {
    func schema(_ value: String) throws -> TileSchema {
      try TileSchema(
        json: Data(#"{"layers": [{"layer": "huts", "key": "tourism", "value": "\#(value)"}]}"#.utf8))
    }
    var places = try PlaceStore(path: path, schema: schema("alpine_hut"))
    let bytes = Writer.tile("huts", .point(5, 5, [("name", .string("Corrour"))]))
    try places.replace(west, payload: bytes, receivedAt: 1)
    #expect(try places.search("corrour").map(\.value) == ["alpine_hut"])
    try places.close()
    places = try PlaceStore(path: path, schema: schema("wilderness_hut"))
    #expect(try places.search("corrour").map(\.value) == ["wilderness_hut"])
    try places.close()
    let error = #expect(throws: BothyError.self) { try PlaceStore(path: path) }
    #expect(error?.message.contains("Give a schema") == true)
    places = try PlaceStore(path: path, schema: schema("wilderness_hut"))
    #expect(try places.payload(of: west) == bytes)
    try places.close()
  }

  @Test("A town of a real archive has its places, streets and crossings")
  func realTown() async throws {
    guard let folder = Fixtures.folder else { return }
    let archive = try await TileArchives.open(path: "\(folder)/pmtiles/rio-gallegos-ar.pmtiles")
    let places = try PlaceStore(path: path)
    for x in 5041...5042 {
      for y in 10_943...10_945 {
        let tile = try Tile(x: x, y: y, zoom: 14)
        let bytes = try #require(try await archive.content(of: tile))
        try places.replace(tile, payload: bytes, receivedAt: 1)
      }
    }
    let hotel = try #require(try places.search("hotel covadonga").first)
    #expect(hotel.value == "hotel" && hotel.category == .place)
    let streets = try places.search("zapiola", PlaceFilter(layers: [.road]))
    #expect(!streets.isEmpty)
    let crossings = try streets.flatMap { try places.intersections(ofRoad: $0.ids[0]) }
    #expect(crossings.count > streets.count)
    let near = try places.nearest(10, to: hotel.center)
    #expect(near.first?.feature.key == hotel.key && near.count == 10)
    #expect(near.map(\.distance) == near.map(\.distance).sorted())
  }
}
