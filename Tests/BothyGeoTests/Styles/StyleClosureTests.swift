import BothyCache
import BothyGeo
import BothyStore
import Foundation
import Testing

@Suite("What a style needs", .timeLimit(.minutes(5)))
struct StyleClosureTests {
  private static let address = "https://maps.test/bright/style.json"

  /// Returns the list of a style with the shared documents.
  private func closure(_ style: String, at address: String = address, secrets: Set<String> = []) throws
    -> MapClosure
  {
    let json = try MapClosure.document(Data(style.utf8), at: address)
    var documents: [String: JSONValue] = [:]
    for url in try MapClosure.documents(of: json, at: address, secrets: secrets).values {
      let known =
        StyleDocuments.all[url] ?? StyleDocuments.all[url + "?key=secret"]
        ?? #"{"tiles": ["/t/{z}/{x}/{y}"]}"#
      documents[url] = try MapClosure.document(Data(known.utf8), at: url)
    }
    return try MapClosure(json, at: address, tileJSON: documents, secrets: secrets)
  }

  /// A style with one layer of text and this text-font.
  private func style(font: String, text: String = #""{name}""#) -> String {
    """
    {"layers": [{"id": "place", "type": "symbol", "source": "a", "layout": {"text-field": \(text), "text-font": \(font)}}],
     "glyphs": "https://maps.test/{fontstack}/{range}.pbf", "sources": {"a": {"type": "vector", "url": "a.json"}}}
    """
  }

  /// Promises: A-71
  @Test(
    "All results of an expression or function are fonts of the style",
    arguments: [
      (#"["A", "B"]"#, ["A,B"]), (#"["literal", ["A"]]"#, ["A"]),
      (#"{"stops": [[6, ["A"]], [10, ["B"]]]}"#, ["A", "B"]),
      (
        #"["step", ["zoom"], ["literal", ["A"]], 8, ["literal", ["B"]], 9, ["literal", ["C"]]]"#,
        ["A", "B", "C"]
      ),
      (
        #"["match", ["get", "k"], ["x", "y"], ["literal", ["A"]], "z", ["literal", ["B"]], ["literal", ["C"]]]"#,
        ["A", "B", "C"]
      ),
      (#"["case", ["has", "k"], ["literal", ["A"]], ["literal", ["B"]]]"#, ["A", "B"]),
      (#"["let", "f", ["literal", ["A"]], ["coalesce", ["var", "f"], ["literal", ["B"]]]]"#, ["A", "B"]),
      (#"["array", "string", ["literal", ["A"]]]"#, ["A"]), ("null", []),
    ])
  func fonts(_ font: String, _ stacks: [String]) throws {
    #expect(try closure(style(font: font)).fonts == stacks)
  }

  @Test("A style may begin with a byte order mark")
  func byteOrderMark() throws {
    #expect(try closure("\u{FEFF}" + style(font: #"["A"]"#)).fonts == ["A"])
  }

  @Test("The files of the fonts that texts have are files of the style")
  func fontFaces() throws {
    let faces = """
      {"A": "a.ttf", "C": [{"url": "c.ttf", "unicode-range": ["U+0"]}, {"url": 3}], "E": "https://e.test/e.ttf"}
      """
    func style(_ faces: String) -> String {
      self.style(font: #"["A", "C"]"#).replacing(#"{"layers""#, with: #"{"font-faces": \#(faces), "layers""#)
    }
    #expect(
      try closure(style(faces)).files
        == ["https://maps.test/bright/a.ttf", "https://maps.test/bright/c.ttf"])
    let many = Array(repeating: #"{"url": "a.ttf"}"#, count: 65).joined(separator: ",")
    for bad in [#"{"A": "http://10.0.0.1/a.ttf"}"#, #"{"A": [\#(many)]}"#] {
      #expect {
        try closure(style(bad))
      } throws: {
        ($0 as? BothyError)?.code == .invalidSource
      }
    }
  }

  @Test("Sections of a text have fonts, and a text without one the standard")
  func sections() throws {
    let section = #"["format", ["get", "name"], {"text-font": ["literal", ["C"]]}, "x", {}]"#
    #expect(try closure(style(font: #"["A"]"#, text: section)).fonts == ["A", "C"])
    let plain =
      #"{"layers": [{"type": "symbol", "layout": {"text-field": "x"}}], "glyphs": "/{fontstack}/{range}.pbf"}"#
    #expect(try closure(plain).fonts == ["Open Sans Regular,Arial Unicode MS Regular"])
  }

  @Test(
    "Fonts that depend on the data are refused",
    arguments: [
      #"["get", "font"]"#, #"["array", "string", ["get", "fonts"]]"#,
      #"{"property": "font", "type": "identity"}"#,
      #"["case", ["has", "k"], ["get", "f"], ["literal", ["A"]]]"#,
      #"["let", "f", ["get", "x"], ["var", "f"]]"#,
      #"["literal", ["a/../b"]]"#,
    ])
  func unbounded(_ font: String) throws {
    let error = #expect(throws: BothyError.self) { try closure(style(font: font)) }
    #expect(error?.code == .invalidSource && error?.message.contains("'place'") == true)
  }

  /// Promises: A-71
  @Test("A sprite is four files, and its query stays at the end")
  func sprites() throws {
    let light = try closure(StyleDocuments.light, at: "https://api.test/style.json", secrets: ["key"])
    let huts = light.files.filter { $0.contains("huts") && $0.contains("assets") }
    #expect(
      huts
        == ["huts.json?v=2", "huts.png?v=2", "huts@2x.json?v=2", "huts@2x.png?v=2"].map {
          "https://assets.test/sprites/" + $0
        })
    #expect(light.files.contains("https://api.test/huts.geojson"))
    #expect(light.files.count == 9)
  }

  @Test("Addresses have no secrets, and those of other hosts stay as they are")
  func secrets() throws {
    let light = try closure(
      StyleDocuments.light, at: "https://api.test/style.json?key=secret", secrets: ["key"])
    #expect(!light.addresses.contains { $0.contains("secret") })
    #expect(light.style == "https://api.test/style.json" && light.documents == ["https://api.test/v4.json"])
    #expect(
      light.tiles.map(\.template) == [
        "https://api.test/v4/{z}/{x}/{y}.mvt", "https://relief.test/{z}/{x}/{-y}",
      ])
    let other = #"{"layers": [], "sprite": "https://other.test/s?key=public"}"#
    #expect(try closure(other, secrets: ["key"]).files.allSatisfy { $0.hasSuffix("?key=public") })
  }

  /// Promises: A-71
  @Test("Sources with one address are one, with the zooms of both")
  func shared() throws {
    let bright = try closure(StyleDocuments.bright)
    #expect(bright.documents.count == 3)
    let dem = try #require(bright.tiles.first { $0.names.contains("HillshadeSource") })
    #expect(
      dem.names == ["HillshadeSource", "TerrainSource"] && dem.template == "https://maps.test/dem/{z}/{x}/{y}"
    )
    #expect(
      dem.zooms(of: try ZoomRange(3, 7)) == (try ZoomRange(3, 8)), "tiles of 256 pixels; terrain is coarser")
    #expect(bright.tiles.first { $0.names == ["unused"] }?.zooms(of: try ZoomRange(0, 9)) == nil)
    let omt = try #require(bright.tiles.first { $0.names == ["openmaptiles"] })
    #expect(omt.template == "https://{s}/omt/{z}/{x}/{y}.pbf" && omt.hosts == ["a.maps.test", "b.maps.test"])
    #expect(omt.zooms(of: try ZoomRange(10, 16)) == (try ZoomRange(10, 12)))
    #expect(
      omt.zooms(of: try ZoomRange(14, 16)) == (try ZoomRange(12, 12)), "beyond its last zoom it is enlarged")
  }

  @Test(
    "Zooms follow the layers that draw a source",
    arguments: [
      ("{}", 0, 6, 0, 6), (#"{"minzoom": 3}"#, 0, 6, 3, 6), (#"{"maxzoom": 4.5}"#, 0, 6, 0, 5),
      (#"{"minzoom": 5.5}"#, 0, 6, 5, 6),
    ])
  func zooms(_ layer: String, _ low: Int, _ high: Int, _ least: Int, _ most: Int) throws {
    let open = layer.dropLast() + (layer == "{}" ? "" : ",")
    let style = """
      {"layers": [\(open)"type": "fill", "source": "a"}], "sources": {"a": {"type": "vector", "tiles": ["/{z}/{x}/{y}"]}}}
      """
    #expect(try closure(style).tiles[0].zooms(of: ZoomRange(low, high)) == ZoomRange(least, most))
  }

  /// Promises: A-73
  @Test(
    "A hostile style is refused with a reason",
    arguments: [
      (#"{"layers": [], "sprite": "file:///etc/passwd"}"#, "web server"),
      (#"{"layers": [], "sprite": "http://maps.test/s"}"#, "plain HTTP"),
      (#"{"layers": [], "sprite": "https://127.0.0.1/s"}"#, "local network"),
      (#"{"layers": [], "sprite": "https://2130706433/s"}"#, "local network"),
      (#"{"layers": [], "sprite": "https://0x7f.1/s"}"#, "local network"),
      (#"{"layers": [], "sprite": "https://[::1]/s"}"#, "local network"),
      (#"{"layers": [], "sprite": "https://printer.local/s"}"#, "local network"),
      (#"{"layers": [], "sprite": "https://router/s"}"#, "local network"),
      (#"{"layers": [], "sprite": "https://me:pass@maps.test/s"}"#, "web server"),
      (#"{"layers": [], "sprite": "mapbox://sprites/a"}"#, "web server"),
      (
        #"{"layers": [], "sources": {"a": {"type": "vector", "url": "pmtiles://https://10.0.0.1/a"}}}"#,
        "local network"
      ),
      (
        #"{"layers": [], "sources": {"a": {"type": "vector", "url": "pmtiles://http://maps.test/a"}}}"#,
        "plain HTTP"
      ),
      (
        #"{"layers": [], "sources": {"a": {"type": "vector", "url": "mbtiles://https://maps.test/a"}}}"#,
        "use PMTiles"
      ),
      (#"{"layers": [], "sources": {"a": {"type": "vector", "url": "style.json"}}}"#, "needs 'tiles'"),
      (#"{"layers": [], "sources": {"a": {"type": "vector", "tiles": ["/one.pbf"]}}}"#, "source 'a'"),
      (#"{"layers": [], "sources": {"a": {"type": "video", "urls": []}}}"#, "type 'video'"),
      (#"{"layers": [], "imports": [{"id": "a", "url": "/style.json"}]}"#, "imports"),
      (#"{"sources": {}}"#, "layers"), ("[]", "no object"), ("{", "isn't JSON"),
    ])
  func hostile(_ style: String, _ reason: String) throws {
    let error = #expect(throws: BothyError.self) {
      let json = try MapClosure.document(Data(style.utf8), at: Self.address)
      var documents: [String: JSONValue] = [:]
      // A style that names itself as TileJSON.
      for url in try MapClosure.documents(of: json, at: Self.address).values { documents[url] = json }
      _ = try MapClosure(json, at: Self.address, tileJSON: documents)
    }
    #expect(
      error?.code == .invalidSource && error?.message.contains(reason) == true, "\(error?.message ?? "")")
  }

  /// Promises: A-73
  @Test("Sizes of a style are bounded", arguments: ["document", "sources", "hosts", "fonts", "sprites"])
  func bounds(_ what: String) throws {
    let numbers = 0..<100
    let text =
      switch what {
      case "document": #"{"layers": [], "x": ""# + String(repeating: "x", count: 4 << 20) + #""}"#
      case "sources":
        #"{"layers": [], "sources": {"#
          + numbers.map { #""\#($0)": {"type": "geojson", "data": {}}"# }
          .joined(separator: ",") + "}}"
      case "hosts":
        #"{"layers": [], "sources": {"#
          + numbers.prefix(20).map {
            #""\#($0)": {"type": "geojson", "data": "https://h\#($0).test/"}"#
          }.joined(separator: ",") + "}}"
      case "sprites":
        #"{"layers": [], "sprite": ["#
          + numbers.map { #"{"id": "\#($0)", "url": "/s"}"# }.joined(separator: ",") + "]}"
      default:
        style(
          font: #"["match", ["get", "f"], "#
            + numbers.map { #""\#($0)", ["literal", ["F\#($0)"]], "# }.joined()
            + #"["literal", ["F"]]]"#)
      }
    let error = #expect(throws: BothyError.self) { try closure(text) }
    #expect(
      error?.code == .invalidSource && error?.message.contains("more than") == true || what == "sprites")
  }

  @Test("A style from the local network may name its own machine alone")
  func local() throws {
    let style = #"{"layers": [], "sprite": "http://127.0.0.1:9/s"}"#
    #expect(try closure(style, at: "http://127.0.0.1:8/style.json").files.count == 4)
    #expect(throws: BothyError.self) { try closure(style, at: "http://localhost:8/style.json") }
  }

  /// Promises: R-42
  @Test("Attributions of what is in view are plain texts, each once")
  func attributions() async throws {
    let rig = try StyleRig()
    let light = try await rig.style("light")
    let oslo = RegionRig.oslo
    #expect(light.attributions(in: oslo, zoom: 8) == ["Protomaps © OpenStreetMap", "© Relief"])
    #expect(
      light.attributions(in: oslo, zoom: 12) == ["Protomaps © OpenStreetMap"], "no layer draws the relief")
    let far = GeoBox(west: 100, south: 0, east: 101, north: 1)
    #expect(light.attributions(in: far, zoom: 8) == ["Protomaps © OpenStreetMap"])
  }

  /// Promises: R-42
  @Test("Attributions of a region's map are there in a later launch without a network")
  func attributionsOffline() async throws {
    let rig = try StyleRig()
    let known = try await rig.style("bright").attributions(in: RegionRig.oslo, zoom: 8)
    _ = try await rig.loaded("bright")
    let later = try await rig.reopened()
    later.cache.suspendNetwork()
    let texts = try await later.style("bright").attributions(in: RegionRig.oslo, zoom: 8)
    // A TileJSON document of a server states it.
    #expect(texts == known && texts.contains("© OpenMapTiles © OpenStreetMap"))
    #expect(later.server.requests.isEmpty)
  }

  @Test("The sources of a style aren't those of another one whose id begins alike")
  func parts() {
    let all: [SourceID] = [
      "osm", "osm/tiles", "osm:elsewhere", "osm/night", "osm/night/tiles", "osm/night:elsewhere", "osm/hills",
      "other/tiles",
    ]
    let day = MapClosure.parts(of: "osm", among: all, beside: ["osm/night", "osm/hills", "other"])
    #expect(day == ["osm/tiles", "osm:elsewhere"])
    let night = MapClosure.parts(of: "osm/night", among: all, beside: ["osm", "osm/hills", "other"])
    #expect(night == ["osm/night/tiles", "osm/night:elsewhere"])
  }
}
