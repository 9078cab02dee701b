import BothyGeo
import BothyStore
import Testing

@Suite("The classification of features", .timeLimit(.minutes(5)))
struct ClassificationTests {
  typealias Document = TileDocument

  private func decode(
    _ type: String, _ value: String, _ properties: String = "{}", geometry: String? = nil,
    _ table: CategoryTable = .common
  ) throws -> TileFeature {
    try #require(
      try Document.decode(
        Document.feature(type, value, geometry: geometry, properties: properties), table))
  }

  @Test(
    "Layers follow from the main tag, and the first matching rule wins",
    arguments: [
      ("highway", "residential", "{}", TileFeature.Layer.road), ("highway", "motorway_link", "{}", .road),
      ("highway", "footway", "{}", .path), ("highway", "bridleway", "{}", .path),
      ("highway", "steps", "{}", .poi),
      ("highway", "primary_link", "{}", .poi), ("highway", "bus_stop", "{}", .poi),
      ("highway", "footway", #"{"footway": "crossing"}"#, .poi), ("highway", "crossing", "{}", .poi),
      ("highway", "residential", #"{"entrance": "yes"}"#, .poi), ("amenity", "footway", "{}", .poi),
      ("highway", "gd_intersection", "{}", .intersection),
      ("highway", "path", #"{"indoormark": "beacon"}"#, .poi),
    ])
  func layers(type: String, value: String, properties: String, layer: TileFeature.Layer) throws {
    #expect(try decode(type, value, properties).layer == layer)
  }

  @Test("Categories follow from tags, and the most important of several wins")
  func categories() throws {
    let table = CategoryTable(
      version: 1,
      [.place: ["cafe", "fort"], .landmark: ["church", "cafe"], .object: ["bench"], .safety: ["hole"]])
    #expect(try decode("amenity", "cafe", #"{"amenity": "cafe"}"#, table).category == .landmark)
    #expect(try decode("amenity", "x", #"{"amenity": "bench", "hole": "deep"}"#, table).category == .safety)
    #expect(try decode("amenity", "x", #"{"amenity": "x"}"#, table).category == .undefined)
    #expect(try decode("amenity", "bank", #"{"hole": "deep"}"#, table).category == .place)
    #expect(try decode("amenity", "atm", #"{"hole": "deep"}"#, table).category == .mobility)
    #expect(try decode("highway", "bus_stop", "{}", table).category == .mobility)
    #expect(try decode("highway", "crossing", #"{"highway": "crossing"}"#, table).category == .mobility)
    #expect(try decode("door", "x", #"{"entrance": "main"}"#, table).category == .entrance)
    #expect(try decode("x", "y", #"{"indoormark": "beacon", "entrance": "yes"}"#, table).category == .beacon)
  }

  /// Promises: B-19g
  @Test("Names, addresses, operators and accessories don't decide the category of a feature")
  func texts() throws {
    let table = CategoryTable(
      version: 1, [.landmark: ["fort"], .object: ["bench", "no"], .place: ["picnic_table"]])
    for key in [
      "name", "name:en", "operator", "addr:street", "addr:city", "brand", "old_name", "description",
    ] {
      #expect(
        try decode("place", "town", "{\"place\": \"town\", \"\(key)\": \"fort\"}", table).category
          == .undefined)
    }
    #expect(
      try decode("historic", "fort", #"{"historic": "fort", "name": "bench"}"#, table).category == .landmark)
    #expect(
      try decode("leisure", "picnic_table", #"{"bench": "yes", "leisure": "picnic_table"}"#, table).category
        == .place)
    #expect(
      try decode("amenity", "shelter", #"{"amenity": "shelter", "bench": "no"}"#, table).category
        == .undefined)
    #expect(try decode("bench", "yes", #"{"bench": "yes"}"#, table).category == .object)
  }

  /// Promises: B-19f
  @Test("The generic name and the category don't depend on the order of tags")
  func order() throws {
    let tags = [
      #""amenity": "cafe""#, #""shop": "convenience""#, #""building": "office""#, #""leisure": "park""#,
    ]
    var seen: Set<TileFeature> = []
    for rotation in tags.indices {
      for reversed in [false, true] {
        let turned = Array(tags[rotation...] + tags[..<rotation])
        let text = "{" + (reversed ? turned.reversed() : turned).joined(separator: ", ") + "}"
        seen.insert(try decode("amenity", "cafe", text))
        #expect(try decode("shop", "convenience", text).nameTag == "convenience_store")
        #expect(try decode("landuse", "retail", text).nameTag == "cafe")
      }
    }
    #expect(seen.count == 1 && seen.first?.nameTag == "cafe")
  }

  @Test("Names come from the name, from operators of banks, or from a tag")
  func names() throws {
    #expect(try decode("amenity", "cafe", #"{"name": "Joe's"}"#).name == "Joe's")
    #expect(try decode("amenity", "atm", #"{"operator": "Bank"}"#).name == "Bank")
    #expect(try decode("amenity", "atm", #"{"brand": "Bank"}"#).name == nil)
    #expect(try decode("amenity", "bank", #"{"brand": "B"}"#).name == "B")
    #expect(try decode("amenity", "bank", #"{"brand": "B", "operator": "O"}"#).name == "O")
    #expect(try decode("amenity", "bank", #"{"brand": "B", "operator": ""}"#).name == "B")
    #expect(try decode("amenity", "cafe", #"{"operator": "O"}"#).name == nil)
    #expect(try decode("highway", "footway", #"{"highway": "footway"}"#).nameTag == "walking_path")
    #expect(
      try decode("building", "house", #"{"building": "house", "entrance": "yes"}"#).nameTag
        == "building_entrance")
    #expect(try decode("railway", "x", #"{"railway": "construction"}"#).nameTag == "construction")
    let nameless = try decode("building", "yes", #"{"building": "yes"}"#)
    #expect(nameless.name == nil && nameless.nameTag == nil && !nameless.isNamed)
  }

  @Test("Names in a language come from the nearest key of that language")
  func languages() throws {
    let feature = try decode(
      "amenity", "cafe",
      #"{"name": "Tea", "name:zh": "茶", "name:zh-Hant": "茶T", "old_name:en": "Old", "name:etymology:wikidata": "Q1", "#
        + #""name:left": "L", "name:be-tarask": "Б", "name:sr_Latn": "Čaj", "name:": "?"}"#)
    #expect(
      feature.localizedNames == ["zh": "茶", "zh-Hant": "茶T", "be-tarask": "Б", "sr_Latn": "Čaj"])
    #expect(feature.name(in: "zh-Hant-TW") == "茶T" && feature.name(in: "zh-Hans") == "茶")
    #expect(feature.name(in: "fr") == "Tea" && feature.name(in: "") == "Tea")
  }

  /// Promises: B-19h
  @Test(
    "A crossing drawn as a line becomes the point in its middle")
  func crossings() throws {
    func crossing(_ line: String) throws -> TileFeature {
      try decode(
        "highway", "footway", #"{"footway": "crossing", "highway": "footway"}"#,
        geometry: Document.shape("LineString", line))
    }
    #expect(
      try crossing("[[0, 0], [1, 7], [2, 0]]").geometry == .point(Coordinate(latitude: 7, longitude: 1)))
    let even = try crossing("[[9, 9], [0, 50], [2, 50], [9, 9]]")
    let between = Geodesy.midpoint(
      Coordinate(latitude: 50, longitude: 0), Coordinate(latitude: 50, longitude: 2))
    #expect(even.geometry == .point(between) && even.center == between && even.category == .mobility)
    #expect(abs(between.longitude - 1) < 1e-9 && between.latitude > 50)
    #expect(try crossing("[[3, 4]]").geometry == .point(Coordinate(latitude: 4, longitude: 3)))
    let area = try decode(
      "highway", "footway", #"{"footway": "crossing"}"#,
      geometry: Document.shape("Polygon", "[[[0, 0], [1, 0], [1, 1], [0, 0]]]"))
    #expect(area.geometry.extent == .area)
  }

  @Test("Addresses, numbers of roads and roundabouts are read from tags")
  func details() throws {
    let full = try decode(
      "amenity", "cafe",
      #"{"addr:housenumber": "7", "addr:street": "Main", "phone": "1", "ref": "A4", "junction": "circular"}"#)
    #expect(full.addressLine == "7 Main" && full.phone == "1" && full.reference == "A4" && full.isRoundabout)
    let half = try decode("amenity", "cafe", #"{"addr:street": "Main", "junction": "yes"}"#)
    #expect(half.addressLine == nil && half.streetName == "Main" && !half.isRoundabout)
  }

  @Test("A table from JSON ignores unknown categories and rejects invalid versions and lists")
  func tables() throws {
    let table = try CategoryTable(
      json: #"{"version": 3, "categories": {"place": ["cafe"], "nonsense": ["cafe"], "safety": []}}"#)
    #expect(table.version == 3 && table == CategoryTable(version: 3, [.place: ["cafe"]]))
    #expect(try decode("amenity", "cafe", #"{"amenity": "cafe"}"#, table).category == .place)
    for text in [
      "", "[]", #"{"version": "1", "categories": {}}"#, #"{"version": 1.5, "categories": {}}"#,
      #"{"version": 1}"#,
      #"{"version": 1, "categories": {"place": [1]}}"#, #"{"version": 1, "categories": {"place": "cafe"}}"#,
    ] {
      let error = #expect(throws: BothyError.self) { try CategoryTable(json: text) }
      #expect(error?.code == .invalidCategories)
    }
  }
}
