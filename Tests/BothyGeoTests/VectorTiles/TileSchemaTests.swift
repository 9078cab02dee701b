import BothyGeo
import BothyStore
import Foundation
import Testing

@Suite("Schemas of vector tiles", .timeLimit(.minutes(5)))
struct TileSchemaTests {
  typealias Writer = VectorTileWriter
  typealias Feature = VectorTileWriter.Feature

  private let tile: Tile

  init() throws { tile = try Tile(x: 8681, y: 4767, zoom: 14) }

  private func decode(_ writer: Writer, schema: TileSchema? = nil) throws -> DecodedTile {
    try AnyTileDecoder(schema: schema).decode(Data(writer.bytes), of: tile, categories: .common)
  }

  private func text(_ feature: TileFeature) -> String {
    "\(feature.layer.rawValue) \(feature.type)=\(feature.value) \(feature.name ?? "-") \(feature.category.rawValue)"
  }

  /// Promises: T-49
  @Test("OpenMapTiles: places by class and subclass, streets with names from their own layer")
  func openMapTiles() throws {
    var writer = Writer()
    let name: (String, Writer.Value) = ("name", .string("X"))
    writer.layer(
      "poi",
      [
        .point(1, 1, [("class", .string("cafe")), ("subclass", .string("cafe")), name]),
        .point(2, 1, [("class", .string("grocery")), ("subclass", .string("supermarket")), name]),
        .point(3, 1, [("class", .string("shop")), ("subclass", .string("unheard_of")), name]),
        .point(4, 1, [("class", .string("bus")), ("subclass", .string("bus_stop")), name]),
        .point(5, 1, [("class", .string("place_of_worship")), ("subclass", .string("christian")), name]),
        .point(
          6, 1, [("class", .string("park")), ("subclass", .string("park")), ("name_en", .string("Y")), name]),
        .point(4096, 1, [("class", .string("cafe")), name]),
        .point(1, -1, [("class", .string("cafe")), name]),
      ])
    writer.layer(
      "transportation",
      [
        .line([(0, 10), (50, 10), (90, 10)], [("class", .string("minor"))]),
        .line([(50, 10), (50, 60)], [("class", .string("path")), ("subclass", .string("footway"))]),
        .line([(0, 500), (50, 500)], [("class", .string("rail")), ("subclass", .string("rail"))]),
      ])
    writer.layer(
      "transportation_name",
      [
        .line(
          [(0, 10), (50, 10), (90, 10)], [("class", .string("minor")), ("name", .string("High Street"))])
      ])
    writer.layer(
      "place",
      [.point(9, 9, [("class", .string("town")), name]), .point(9, 8, [("class", .string("town"))])])
    let decoded = try decode(writer)
    #expect(decoded.format == "OpenMapTiles" && decoded.problems.isEmpty)
    #expect(
      decoded.features.map(text) == [
        "poi amenity=cafe X place", "poi shop=supermarket X place", "poi shop=unheard_of X place",
        "poi highway=bus_stop X mobility", "poi amenity=place_of_worship X landmark",
        "poi leisure=park X landmark",
        "poi place=town X undefined", "road highway=unclassified High Street undefined",
        "path highway=footway - undefined", "intersection highway=gd_intersection - undefined",
      ])
    #expect(decoded.features[5].name(in: "en") == "Y")
    let junction = decoded.features[9]
    #expect(junction.roads == [decoded.features[7], decoded.features[8]].compactMap(\.ids.first).sorted())
  }

  /// Promises: T-49
  @Test("Soundscape: streets have names and OpenStreetMap ids, and an element is one place")
  func soundscape() throws {
    let square: [(Int64, Int64)] = [(10, 10), (20, 10), (20, 20), (10, 20)]
    let school: [(String, Writer.Value)] = [("class", .string("school")), ("subclass", .string("school"))]
    var writer = Writer()
    writer.layer(
      "poi",
      [
        .area([square], id: 3_057_906_242, school), .point(15, 15, id: 3_057_906_242, school),
        .point(7, 7, id: 46_546_222_891, [("class", .string("entrance")), ("subclass", .string("main"))]),
      ])
    writer.layer(
      "building",
      [
        .area([square], id: 3_057_906_242, [("building", .string("school")), ("name", .string("School"))]),
        .area([square], id: 82, [("building", .string("hotel")), ("name", .string("Inn"))]),
        .area([square], id: 92, [("building", .string("house"))]),
      ])
    writer.layer(
      "transportation",
      [.line([(1, 1), (9, 9)], id: 772, [("class", .string("minor")), ("name", .string("A"))])])
    let decoded = try decode(writer)
    #expect(decoded.format == "Soundscape")
    #expect(
      decoded.features.map(text) == [
        "poi amenity=school - landmark", "poi entrance=main - entrance",
        "road highway=unclassified A undefined",
        "poi building=hotel Inn place",
      ])
    #expect(decoded.features.map(\.ids) == [[-305_790_624], [4_654_622_289], [-77], [-8]])
    #expect(decoded.features[0].geometry.extent == .area)
  }

  /// Promises: T-49
  @Test("Protomaps: kinds and details, with ids that have the element")
  func protomaps() throws {
    var writer = Writer()
    let street: [(String, Writer.Value)] = [
      ("kind", .string("minor_road")), ("kind_detail", .string("residential")), ("name", .string("A")),
    ]
    writer.layer("pois", [.point(1, 1, id: 1 << 44 | 5, [("kind", .string("bench"))])])
    writer.layer(
      "roads",
      [
        .line([(1, 1), (9, 9)], id: 2 << 44 | 6, street),
        .line([(1, 2), (9, 3)], [("kind", .string("rail"))]),
        .line(
          [(1, 4), (9, 4)], id: 2 << 44 | 8,
          [("kind", .string("path")), ("kind_detail", .string("sidewalk"))]),
      ])
    writer.layer(
      "places",
      [
        .point(
          5, 5, id: 3 << 44 | 7,
          [("kind", .string("locality")), ("kind_detail", .string("city")), ("name", .string("B"))])
      ])
    let decoded = try decode(writer)
    #expect(decoded.format == "Protomaps")
    #expect(
      decoded.features.map(text) == [
        "poi amenity=bench - object", "road highway=residential A undefined",
        "path highway=footway - undefined",
        "poi place=city B undefined",
      ])
    #expect(decoded.features.map(\.ids) == [[5], [-6], [-8], [-100_000_000_000_000_007]])
  }

  /// Promises: T-49
  @Test("Shortbread: OpenStreetMap's own keys, stops, and streets with names from their own layer")
  func shortbread() throws {
    var writer = Writer()
    writer.layer(
      "pois", [.point(1, 1, [("amenity", .string("bank")), ("atm", .bool(true)), ("name", .string("A"))])])
    writer.layer(
      "public_transport", [.point(2, 2, [("kind", .string("tram_stop")), ("name", .string("B"))])])
    writer.layer(
      "streets", [.line([(0, 0), (9, 9)], [("kind", .string("residential")), ("link", .bool(false))])])
    writer.layer(
      "street_labels",
      [.line([(0, 0), (9, 9)], [("kind", .string("residential")), ("name_de", .string("D"))])])
    writer.layer("land", [.area([[(1, 1), (9, 1), (9, 9)]], [("kind", .string("park"))])])
    let decoded = try decode(writer)
    #expect(decoded.format == "Shortbread")
    #expect(
      decoded.features.map(text) == [
        "poi amenity=bank A place", "poi railway=tram_stop B mobility", "poi leisure=park - landmark",
        "road highway=residential - undefined",
      ])
    #expect(decoded.features[3].name(in: "de") == "D")
  }

  @Test("A named street is a piece of its tile, and none outside")
  func pieces() throws {
    var writer = Writer()
    func street(_ places: [(Int64, Int64)]) -> Feature {
      .line(places, [("kind", .string("residential")), ("name", .string("\(places[0].0)"))])
    }
    writer.layer(
      "street_labels",
      [
        street([(10, 10), (4000, 4000)]), street([(20, 10), (4100, 10)]), street([(-30, 5), (-1, 900)]),
        street([(0, 5), (40, 5)]), street([(-9, 700), (5000, 4200)]),
        // These pass by the corners.
        street([(-40, 20), (20, -40)]), street([(4080, 4140), (4140, 4080)]),
      ])
    let decoded = try decode(writer)
    #expect(decoded.features.map(\.name) == ["10", "20", "0", "-9"])
    #expect(decoded.features.map(\.cutBy) == [tile, tile, tile, tile])
    #expect(decoded.features[1].key.id.hasSuffix("@14/8681/4767"))
  }

  @Test("An area belongs to the tiles that it covers or crosses alone")
  func areas() throws {
    func isHere(_ rings: [[(Int64, Int64)]]) throws -> Bool {
      var writer = Writer()
      writer.layer("land", [.area(rings, [("kind", .string("park"))])])
      writer.layer("streets", [.line([(0, 0), (9, 9)], [("kind", .string("residential"))])])
      return try decode(writer).features.contains { $0.value == "park" }
    }
    func square(_ from: Int64, _ to: Int64) -> [(Int64, Int64)] {
      [(from, from), (to, from), (to, to), (from, to)]
    }
    #expect(try isHere([square(10, 20)]))
    #expect(try isHere([square(-64, 20)]))
    #expect(try isHere([square(-64, 4160)]))
    #expect(try isHere([[(-64, 1000), (4160, 1000), (4160, 1100), (-64, 1100)]]))
    #expect(try !isHere([square(-64, -1)]))
    #expect(try !isHere([[(-64, -64), (30, -64), (-64, 30)]]), "it passes by the corner")
    #expect(try !isHere([square(-64, 4160), square(-32, 4128).reversed()]), "the tile is in its hole")
  }

  @Test("Roads meet where three ways lead from a shared position, not on bridges")
  func intersections() throws {
    func count(_ lines: [[(Int64, Int64)]], _ more: [(String, Writer.Value)] = []) throws -> Int {
      var writer = Writer()
      let features = lines.enumerated().map { index, places in
        Feature.line(
          places,
          [("kind", .string("residential")), ("name", .string("\(index)"))] + (index == 0 ? more : []))
      }
      writer.layer("street_labels", features)
      return try decode(writer).features.filter { $0.layer == .intersection }.count
    }
    let cross: [[(Int64, Int64)]] = [[(0, 50), (50, 50), (90, 50)], [(50, 0), (50, 50), (50, 90)]]
    #expect(try count(cross) == 1)
    #expect(try count(cross, [("bridge", .bool(true))]) == 0)
    #expect(try count(cross, [("bridge", .bool(false))]) == 1)
    #expect(try count([[(0, 50), (50, 50)], [(50, 50), (50, 90)]]) == 0)
    #expect(try count([[(0, 50), (50, 50)], [(50, 50), (50, 90)], [(50, 50), (90, 50)]]) == 1)
    #expect(try count([[(0, 4096), (50, 4096), (90, 4096)], [(50, 4000), (50, 4096), (50, 4100)]]) == 0)
  }

  /// Promises: T-49
  @Test("A tile of no known schema says so, and a JSON schema reads it")
  func ownSchema() throws {
    var writer = Writer()
    writer.layer("huts", [.point(5, 5, [("sort", .string("bothy")), ("titel", .string("Corrour"))])])
    let refusal = #expect(throws: BothyError.self) { try decode(writer) }
    #expect(refusal?.message.contains("huts") == true && refusal?.code != .notATile)
    let schema = try TileSchema(
      json: Data(
        #"""
        {"name": "Huts", "fields": {"titel": "name"}, "layers": [
          {"layer": "huts", "classes": ["sort"], "values": {"bothy": "wilderness_hut"}}]}
        """#.utf8))
    var found = try decode(writer, schema: schema)
    #expect(
      found.format == "Huts" && found.features.map(text) == ["poi tourism=wilderness_hut Corrour undefined"])
    writer = Writer()
    writer.layer("water", [.area([[(0, 0), (9, 0), (9, 9)]])])
    found = try decode(writer)
    #expect(found.features.isEmpty)
  }

  @Test(
    "A schema that isn't one is refused with its member",
    arguments: [
      ("[]", "an object"), ("{}", "'layers'"), (#"{"layers": [{}]}"#, "'layer'"), ("x", "can't be used"),
      (#"{"layers": [{"layer": "a", "shape": []}]}"#, "'shape' isn't a member"),
      (#"{"layers": [{"layer": "a", "shapes": ["dot"]}]}"#, "'dot'"),
      (#"{"layers": [{"layer": "a", "classes": "b"}]}"#, "'classes' must be a list"),
      (#"{"layers": [{"layer": "a", "values": {"b": 1}}]}"#, "'values' must be an object"),
      (#"{"ids": "osm", "layers": [{"layer": "a"}]}"#, "'ids' can't be 'osm'"),
    ])
  func badSchemas(json: String, part: String) {
    let error = #expect(throws: BothyError.self) { try TileSchema(json: Data(json.utf8)) }
    #expect(error?.code == .invalidCategories && error?.message.contains(part) == true)
  }
}
