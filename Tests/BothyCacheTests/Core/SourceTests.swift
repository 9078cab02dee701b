import BothyCache
import Testing

@Suite("Sources, keys and addresses", .timeLimit(.minutes(5)))
struct SourceTests {
  private func source(
    _ template: String, hosts: [String] = [], ignored: Set<String> = [], secrets: [String: String] = [:]
  ) throws -> ResourceSource {
    try ResourceSource("s", template: template, hosts: hosts, ignoredQueryItems: ignored, secrets: secrets)
  }

  @Test("A template is filled with the values it names")
  func templates() throws {
    let tile = (zoom: 16, x: 10472, y: 22982)
    func url(_ template: String, _ hosts: [String] = []) throws -> String {
      let source = try source(template, hosts: hosts)
      return source.publicURL(for: try source.key(zoom: tile.zoom, x: tile.x, y: tile.y))
    }
    #expect(
      try url("https://t.example/tiles/{z}/{x}/{y}.json") == "https://t.example/tiles/16/10472/22982.json")
    #expect(try url("https://t.example/{z}/{x}/{-y}.png") == "https://t.example/16/10472/42553.png")
    #expect(try url("https://t.example/{q}.pbf") == "https://t.example/0212300233101220.pbf")
    #expect(
      try url("https://{s}.t.example/{z}/{x}/{y}{r}.png", ["a"]) == "https://a.t.example/16/10472/22982.png")
    let sharp = try ResourceSource(
      "r", template: "https://t.example/{z}/{x}/{y}{r}.png", highResolution: true)
    #expect(sharp.publicURL(for: try sharp.key(zoom: 1, x: 0, y: 1)) == "https://t.example/1/0/1@2x.png")
  }

  @Test(
    "An invalid template is rejected with a reason",
    arguments: [
      "https://t/{z}/{x}", "https://t/{w}", "https://t/{z", "t.example/{z}/{x}/{y}", "ftp://t/{q}", "{q}",
    ])
  func badTemplates(template: String) {
    #expect { try source(template) } throws: { ($0 as? BothyError)?.code == .invalidSource }
  }

  @Test("Invalid ids and hosts are rejected")
  func badSources() {
    #expect(throws: BothyError.self) { try ResourceSource("", template: "https://t.example") }
    #expect(throws: BothyError.self) { try ResourceSource("a\nb", template: "https://t.example") }
    #expect(throws: BothyError.self) { try ResourceSource("a", template: "https://{s}.t.example/{q}") }
  }

  /// Promises: E-22
  @Test("The query is part of a key unless ignored, without fragments and secrets")
  func queries() throws {
    let source = try source("https://api.example/v1", ignored: ["session"], secrets: ["token": "s3cret"])
    let key = try source.key(path: "menu.json?lang=de")
    #expect(key != (try source.key(path: "menu.json?lang=en")))
    #expect(key != (try source.key(path: "menu.json")))
    #expect(key == (try source.key(path: "/menu.json?session=17&lang=de#top")))
    #expect(key == (try source.key(url: "https://API.example:443/v1/./menu.json?lang=de&token=other")))
    #expect(source.publicURL(for: key) == "https://api.example/v1/menu.json?lang=de")
    #expect(source.requestURL(for: key) == "https://api.example/v1/menu.json?lang=de&token=s3cret")
    #expect(!"\(key)".contains("s3cret"))
  }

  @Test(
    "Equivalent paths have one key",
    arguments: [
      ("a/b", "/a/b"), ("a/b", "a/./c/../b"), ("a//b", "/a//b"), ("a//b", "a//c/../b"), ("a%7Eb", "a~b"),
      ("%41", "A"), ("a%2fb", "a%2Fb"),
      ("ä", "%C3%A4"),
      ("b", "../../b"), ("a/", "a/."),
    ])
  func samePaths(left: String, right: String) throws {
    let source = try source("https://api.example")
    #expect(try source.key(path: left) == source.key(path: right))
  }

  @Test("Paths of different resources have different keys")
  func otherPaths() throws {
    let source = try source("https://api.example")
    let paths = [
      "a", "a/", "A", "a%2Fb", "a/b", "a//b", "/a//b/", "a/b//", "a?", "a?b", "a%3Fb", "a?b&&c", "a?b&c",
    ]
    #expect(Set(try paths.map { try source.key(path: $0).path }).count == paths.count - 1)
    #expect(try source.key(path: "a?") == source.key(path: "a"))
  }

  @Test(
    "A request keeps an address's doubled slashes and empty query items",
    arguments: [
      "/image/fetch/https://example.com/a.png", "/a//b", "//a", "/a/b//", "/x?a=1&&b=", "/x?&",
      "/bucket//key?q=a//b",
    ])
  func asGiven(path: String) throws {
    for source in [
      try ResourceSource("any", address: .anywhere), try source("https://api.example"),
      try source("https://api.example/v1/"),
    ] {
      let base = source.id == "any" ? "https://api.example" : source.publicURL(for: try source.key(path: ""))
      let url = (base.hasSuffix("/") ? String(base.dropLast()) : base) + path
      #expect(source.publicURL(for: try source.key(url: url)) == url)
    }
  }

  /// Promises: R-12
  @Test("Alias hosts return one resource under one key")
  func aliases() throws {
    let tiles = try ResourceSource("t", template: "https://{s}.t.example/{z}/{x}/{y}", hosts: ["a", "b"])
    let key = try tiles.key(zoom: 3, x: 1, y: 2)
    #expect(tiles.publicURL(for: key, host: 0) == "https://a.t.example/3/1/2")
    #expect(tiles.publicURL(for: key, host: 3) == "https://b.t.example/3/1/2")
    let files = try ResourceSource("f", template: "https://a.example/x", hosts: ["a.example", "b.example"])
    let file = try files.key(url: "https://b.example/x/1.json")
    #expect(file == (try files.key(url: "https://a.example/x/1.json")))
    #expect(files.publicURL(for: file, host: 1) == "https://b.example/x/1.json")
  }

  /// Promises: B-22, R-34
  @Test("Columns wrap around the world, and rows do not")
  func wrapping() throws {
    let tiles = try source("https://t.example/{z}/{x}/{y}")
    #expect(try tiles.key(zoom: 4, x: 19, y: 3) == tiles.key(zoom: 4, x: 3, y: 3))
    #expect(try tiles.key(zoom: 4, x: -1, y: 3) == tiles.key(zoom: 4, x: 15, y: 3))
    for row in [-1, 16] {
      #expect { try tiles.key(zoom: 4, x: 0, y: row) } throws: { ($0 as? BothyError)?.code == .invalidKey }
    }
  }

  /// Promises: R-35
  @Test("A zoom that the source does not have is rejected")
  func zooms() throws {
    var tiles = try source("https://t.example/{z}/{x}/{y}")
    tiles.zooms = 3...5
    for zoom in [2, 6, -1, 99] {
      #expect { try tiles.key(zoom: zoom, x: 0, y: 0) } throws: {
        ($0 as? BothyError)?.code == .zoomOutOfRange
      }
    }
  }

  @Test("A source of any address has whole addresses as keys")
  func anywhere() throws {
    let web = try ResourceSource("web", address: .anywhere)
    let key = try web.key(url: "HTTPS://User@Example.com:443/a b?x=1#frag")
    #expect(web.publicURL(for: key) == "https://example.com/a%20b?x=1")
    #expect { try web.key(url: "file:///etc/passwd") } throws: { ($0 as? BothyError)?.code == .invalidKey }
  }

  /// Promises: R-11, B-31
  @Test("An id has one source, which may be registered again with other limits")
  func conflicts() throws {
    let cache = try ResourceCache(sources: [try source("https://a.example/{q}")])
    #expect { try cache.register(try source("https://b.example/{q}")) } throws: {
      ($0 as? BothyError)?.code == .sourceConflict
    }
    var again = try source("https://a.example/{q}")
    again.limits.attempts = 7
    try cache.register(again)
    #expect(cache.source("s")?.limits.attempts == 7)
  }

  /// Promises: R-42
  @Test("Names and attribution are available without a network")
  func attribution() throws {
    let names = SourceNames(short: "OSM", long: "OpenStreetMap", attribution: "© OpenStreetMap contributors")
    let source = try ResourceSource("osm", template: "https://t.example/{q}", names: names)
    let cache = try ResourceCache(sources: [source])
    #expect(cache.source("osm")?.names.attribution == "© OpenStreetMap contributors")
    #expect(cache.sources.map(\.names.short) == ["OSM"])
  }
}
