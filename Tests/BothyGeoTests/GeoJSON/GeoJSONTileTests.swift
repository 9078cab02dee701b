import BothyGeo
import BothyStore
import BothyTestSupport
import Testing

@Suite("Tiles in GeoJSON", .timeLimit(.minutes(5)))
struct GeoJSONTileTests {
  typealias Document = TileDocument

  /// Promises: E-34
  @Test(
    "Ids are whole numbers of 64 bits in any notation, and never rounded",
    arguments: [
      ("[-5.67118495E8]", -567_118_495), ("[-100000000012445569]", -100_000_000_012_445_569),
      ("[-100000000012445566]", -100_000_000_012_445_566),
      ("[-1.00000000012445569E17]", -100_000_000_012_445_569),
      ("[9223372036854775807]", Int64.max), ("[-9223372036854775808]", Int64.min),
      ("[-9.223372036854775808e+18]", Int64.min), ("[12.0]", 12), ("[1200e-2]", 12), ("[0.0012E4]", 12),
      ("[9007199254740993.0]", 9_007_199_254_740_993), ("[0e5]", 0),
    ])
  func ids(text: String, expected: Int64) throws {
    #expect(try Document.decode(Document.feature("amenity", "cafe", ids: text))?.ids == [expected])
  }

  /// Promises: E-34
  @Test(
    "A fraction, an id beyond 64 bits or a non-number loses the feature",
    arguments: [
      "[1.5]", "[1e-1]", "[9223372036854775808]", "[-9.3e18]", "[1e400]", "[\"1\"]", "[null]", "[[1]]", "[]",
      "7",
      "[1e-9223372036854775808]", "[1e9223372036854775808]", "null",
    ])
  func badIDs(text: String) throws {
    let tile = try GeoJSONTile(
      decoding: Document.tile(
        Document.feature("amenity", "cafe", ids: text), Document.feature("amenity", "bar", ids: "[2]")))
    #expect(tile.features.map(\.ids) == [[2]])
    #expect(tile.problems.map(\.index) == [0] && tile.problems[0].description.contains("Feature 1"))
  }

  /// Promises: B-13
  @Test("A height after longitude and latitude is accepted")
  func heights() throws {
    let point = try Document.decode(
      Document.feature("amenity", "cafe", geometry: Document.shape("Point", "[-80.52, 43.462, 12.5]")))
    #expect(point?.geometry == .point(Coordinate(latitude: 43.462, longitude: -80.52)))
    let line = try Document.decode(
      Document.feature("highway", "path", geometry: Document.shape("LineString", "[[1, 2, 3], [4, 5, 6, 7]]"))
    )
    #expect(line?.geometry.outline.map(\.longitude) == [1, 4])
  }

  /// Promises: B-12
  @Test("Properties of any kind are read as text, and nulls are omitted")
  func properties() throws {
    let feature = try #require(
      try Document.decode(
        Document.feature(
          "amenity", "cafe",
          properties: #"{"name": "X", "layer": -1, "n": null, "open": true, "size": 1.50, "at": {"a": [1]}}"#)
      ))
    #expect(feature.name == "X" && feature.tags["layer"] == "-1" && feature.tags["n"] == nil)
    #expect(feature.tags["open"] == "true" && feature.tags["size"] == "1.50")
    #expect(feature.tags["at"] == #"{"a": [1]}"# && feature.tags.count == 5)
  }

  /// Promises: B-12
  @Test("An error in one feature omits only that feature, and is reported")
  func broken() throws {
    let good = Document.feature("amenity", "bar", ids: "[2]")
    let noIDs =
      #"{"type": "Feature", "feature_type": "amenity", "geometry": {"type": "Point", "coordinates": [1, 2]}}"#
    let shapes = [
      ("Point", "[1]"), ("Point", "[]"), ("Point", "[1, 91]"), ("Point", "[[1, 2]]"), ("LineString", "[]"),
      ("LineString", "[[1, 2], [[1, 2]]]"), ("Polygon", "[[1, 2]]"), ("MultiPolygon", "[[[1, 2]]]"),
      ("Point", "\"1 2\""), ("Point", "[1, \"2\"]"), ("Circle", "[1, 2]"), ("Polygon", "[[[[[1, 2]]]]]"),
      ("Point", "null"), ("MultiPoint", "[1, 2]"),
    ].map { Document.feature("amenity", "cafe", geometry: Document.shape($0.0, $0.1)) }
    let others = [
      "7", "null", "[]", "\"x\"", "true", "{}", noIDs,
      Document.feature("amenity", "cafe", geometry: "null"),
      Document.feature("amenity", "cafe", geometry: #"{"type": "GeometryCollection", "geometries": []}"#),
      Document.feature("amenity", "cafe", geometry: #"{"coordinates": [1, 2]}"#),
      Document.feature("amenity", "cafe", properties: "[]"),
      Document.feature("amenity", "cafe", properties: "3"),
      Document.feature("gd_entrance_list", "yes", ids: "[5]"),
    ]
    for bad in shapes + others {
      let tile = try GeoJSONTile(decoding: Document.tile(good, bad, good.replacing("[2]", with: "[3]")))
      #expect(tile.features.map(\.ids) == [[2], [3]], "\(bad)")
      #expect(tile.problems.map(\.index) == [1] && tile.problems.first?.reason.isEmpty == false, "\(bad)")
    }
  }

  @Test(
    "Bytes that aren't a collection of features aren't a tile",
    arguments: [
      "", " ", "<html><body>Please log in</body></html>", "{}", "[]", "null", #"{"error": "no"}"#,
      #"{"features": null}"#,
      #"{"features": {}}"#, #"{"features": [] "#, #"{"features": [{]}"#, #"{"features": []} x"#,
      #"{"type": "Feature", "features": []}"#, #"{"features": [{"osm_ids": [1], "geometry": {"type"}}]}"#,
      String(repeating: "[", count: 100_000),
    ])
  func noTiles(text: String) {
    let error = #expect(throws: BothyError.self) { try GeoJSONTile(decoding: text) }
    #expect(error?.code == .notATile)
  }

  /// Promises: E-18
  @Test("An empty tile is valid")
  func empty() throws {
    let tile = try GeoJSONTile(decoding: Document.tile())
    #expect(tile.features.isEmpty && tile.problems.isEmpty)
    var union = FeatureUnion()
    let place = try Tile(x: 1, y: 2, zoom: 16)
    #expect(!union.holds(place))
    union.set(place, tile, receivedAt: 1)
    #expect(union.holds(place) && union.features.isEmpty)
  }

  @Test("Every shape is read, with coordinates before or after the type")
  func shapes() throws {
    func shape(_ type: String, _ coordinates: String) throws -> Geometry? {
      let first = try Document.decode(
        Document.feature("building", "yes", geometry: Document.shape(type, coordinates)))
      let second = try Document.decode(
        Document.feature(
          "building", "yes", geometry: #"{"type": "\#(type)", "coordinates": \#(coordinates)}"#))
      #expect(first?.geometry == second?.geometry)
      return first?.geometry
    }
    func at(_ longitude: Double, _ latitude: Double) -> Coordinate {
      Coordinate(latitude: latitude, longitude: longitude)
    }
    #expect(try shape("Point", "[1, 2]") == .point(at(1, 2)))
    #expect(try shape("MultiPoint", "[[1, 2], [3, 4]]") == .multiPoint([at(1, 2), at(3, 4)]))
    #expect(try shape("LineString", "[[1, 2], [3, 4]]") == .lineString([at(1, 2), at(3, 4)]))
    #expect(
      try shape("MultiLineString", "[[[1, 2]], [[3, 4], [5, 6]]]")
        == .multiLineString([[at(1, 2)], [at(3, 4), at(5, 6)]]))
    let polygon = GeoPolygon(exterior: [at(0, 0), at(3, 0), at(0, 3), at(0, 0)], holes: [[at(1, 1)]])
    #expect(try shape("Polygon", "[[[0, 0], [3, 0], [0, 3], [0, 0]], [[1, 1]]]") == .polygon(polygon))
    #expect(
      try shape("MultiPolygon", "[[[[0, 0], [3, 0], [0, 3], [0, 0]], [[1, 1]]], [[[7, 8]]]]")
        == .multiPolygon([polygon, GeoPolygon(exterior: [at(7, 8)])]))
  }

  /// Promises: E-15
  @Test(
    "The last version of an element counts, unless its key or extent differs")
  func versions() throws {
    let tile = try GeoJSONTile(
      decoding: Document.tile(
        Document.feature("amenity", "cafe", properties: #"{"name": "Old"}"#),
        Document.feature("shop", "books", properties: #"{"name": "Books"}"#),
        Document.feature("amenity", "cafe", properties: #"{"name": "Newer"}"#),
        Document.feature("amenity", "bar", properties: #"{"name": "New"}"#),
        Document.feature(
          "amenity", "cafe", geometry: Document.shape("LineString", "[[1, 2], [3, 4]]"),
          properties: #"{"name": "Line"}"#)))
    #expect(tile.features.map(\.name) == ["New", "Books", "Line"])
    #expect(tile.features[0].value == "bar")
  }

  /// Promises: T-16
  @Test("An intersection is identified by its sorted roads and place, in any order")
  func intersections() throws {
    func crossing(_ ids: String, _ place: String = "[-80.52, 43.462]") throws -> TileFeature {
      try #require(
        try Document.decode(
          Document.feature("highway", "gd_intersection", ids: ids, geometry: Document.shape("Point", place))))
    }
    let first = try crossing("[-3, -20, -1]")
    #expect(first.layer == .intersection && first.ids == [-3, -20, -1] && first.roads == [-20, -3, -1])
    #expect(try crossing("[-20, -1, -3]").key == first.key)
    #expect(try crossing("[-20, -1, -3]", "[-80.52, 43.463]").key != first.key)
    #expect(try crossing("[-20, -1]").key != first.key)
    let loop = try crossing("[-3532736, -3532736]")
    #expect(loop.roads == [-3_532_736] && loop.ids.count == 2 && loop.isNamed)
    let tile = try GeoJSONTile(
      decoding: Document.tile(
        Document.feature("highway", "gd_intersection", ids: "[1, 2]"),
        Document.feature(
          "highway", "gd_intersection", ids: "[1, 2]", geometry: Document.shape("Point", "[-80.521, 43.462]")),
        Document.feature("highway", "gd_intersection", ids: "[2, 1]")))
    #expect(tile.features.count == 2 && Set(tile.features.map(\.key)).count == 2)
  }

  /// Promises: B-16, E-36, T-20
  @Test(
    "An unnamed building has its entrances, and is included only on request")
  func namelessBuildings() throws {
    let ring = "[[[0, 0], [0.001, 0], [0.001, 0.001], [0, 0]]]"
    let tile = try GeoJSONTile(
      decoding: Document.tile(
        Document.feature(
          "building", "yes", ids: "[-10]", geometry: Document.shape("Polygon", ring),
          properties: #"{"building": "yes"}"#),
        Document.feature("amenity", "cafe", ids: "[7]", properties: #"{"amenity": "cafe"}"#),
        Document.feature(
          "gd_entrance_list", "yes", ids: "[-10, 5, 6]",
          geometry: Document.shape("MultiPoint", "[[0, 0], [0.001, 0]]")),
        Document.feature("entrance", "main", ids: "[5]", properties: #"{"entrance": "main"}"#)))
    #expect(tile.entrances(ofBuilding: -10) == [5, 6] && tile.entrances(ofBuilding: 7) == [])
    #expect(tile.features(in: .poi).map(\.ids) == [[7], [5]])
    #expect(tile.features(in: .poi, includeUnnamed: true).map(\.ids) == [[-10], [7], [5]])
    #expect(tile.features(in: .entranceList).first?.building == -10)
  }

  /// Promises: E-14, E-17, B-15
  @Test(
    "An element of several tiles is one, in its latest version, until deleted"
  )
  func unions() throws {
    func tile(_ name: String, entrance: Int) throws -> GeoJSONTile {
      try GeoJSONTile(
        decoding: Document.tile(
          Document.feature("building", "yes", ids: "[-10]", properties: #"{"name": "\#(name)"}"#),
          Document.feature(
            "gd_entrance_list", "yes", ids: "[-10, \(entrance)]",
            geometry: Document.shape("MultiPoint", "[[0, 0]]"))))
    }
    let (west, east) = (try Tile(x: 1, y: 1, zoom: 16), try Tile(x: 2, y: 1, zoom: 16))
    let building = FeatureKey(.poi, "-10")
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0]] {
      var union = FeatureUnion()
      for step in order {
        switch step {
        case 0: union.set(west, try tile("Older", entrance: 9), receivedAt: 1)
        case 1: union.set(west, try tile("Old", entrance: 1), receivedAt: 5)
        default: union.set(east, try tile("New", entrance: 2), receivedAt: 7)
        }
      }
      #expect(union.features.count == 2 && union.features[building]?.name == "New")
      #expect(union.entrances(ofBuilding: -10) == [1, 2] && union.tiles(of: building) == [west, east])
      union.remove(east)
      #expect(union.features[building]?.name == "Old" && union.entrances(ofBuilding: -10) == [1])
      union.set(west, try GeoJSONTile(decoding: Document.tile()), receivedAt: 9)
      #expect(union.features.isEmpty && union.tiles(of: building).isEmpty && union.holds(west))
    }
  }

  /// Promises: E-16, B-17
  @Test("An id that is both a place and a road is both")
  func layers() throws {
    var union = FeatureUnion()
    union.set(
      try Tile(x: 1, y: 1, zoom: 16),
      try GeoJSONTile(
        decoding: Document.tile(
          Document.feature("highway", "pedestrian", ids: "[-4]", properties: #"{"name": "Square"}"#),
          Document.feature("tourism", "attraction", ids: "[-4]", properties: #"{"name": "The Square"}"#))),
      receivedAt: 1)
    #expect(union.features[FeatureKey(.road, "-4")]?.name == "Square")
    #expect(union.features[FeatureKey(.poi, "-4")]?.name == "The Square")
  }

  @Test("A tile of many features costs little more than reading its JSON")
  func speed() throws {
    let text = Array(SyntheticTile.text(features: 3_000, seed: 1).utf8)
    // The least of both counts. They alternate, because the processor is slower at some times.
    var (reading, decoding) = (Duration.seconds(1000), Duration.seconds(1000))
    for round in 0..<40 where round < 5 || decoding / reading >= 12 {
      reading = try min(reading, processorTime { try JSONReader.read(text) { try $0.skip() } })
      let took = try processorTime {
        let tile = try GeoJSONTile(decoding: text)
        #expect(tile.features.count == 3_000 && tile.problems.isEmpty)
      }
      decoding = min(decoding, took)
    }
    print("\(text.count) bytes: decoded in \(decoding), read in \(reading), \(decoding / reading) times")
    #expect(decoding / reading < 12)
  }
}
