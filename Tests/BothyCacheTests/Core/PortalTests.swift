import BothyCache
import BothyTesting
import Foundation
import HTTPTypes
import Testing

@Suite("Sign-in pages instead of a source's content", .timeLimit(.minutes(5)))
struct PortalTests {
  private static let png = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1])
  private static let pages: [ScriptedLoader.Answer] = [
    .init(200, fields: [.contentType: "text/html; charset=utf-8"], "<html>Log in"),
    .init(200, "\n <!DOCTYPE html><html>Log in"),
    .init(200, fields: [.contentType: "text/html"], "Please log in to the hotel's network."),
    .init(200, fields: [.contentType: "application/xhtml+xml"], "<?xml version=\"1.0\"?><html/>"),
  ]

  private func rig(
    _ template: String, content: ContentExpectation? = nil, _ first: ScriptedLoader.Answer
  ) throws -> (FickleLoader, ResourceSource, ResourceCache, StoreDouble, VirtualTime) {
    let (loader, store, time) = (FickleLoader(.answers(first)), StoreDouble(), VirtualTime())
    let source = try ResourceSource(
      "s", template: template, freshness: .fixed(.days(7)), userAgent: "Tests/1 (tests.example)",
      content: content)
    let cache = try ResourceCache(
      sources: [source], disk: DiskCache { _ in store }, loader: loader,
      clock: LoadClock(VirtualClock(), wall: time.reader()))
    return (loader, source, cache, store, time)
  }

  private func tile(_ data: Data, _ type: String? = nil) -> ScriptedLoader.Answer {
    var answer = ScriptedLoader.Answer(200, fields: [.eTag: "\"1\""])
    answer.pieces = [data]
    answer.fields[.contentType] = type
    return answer
  }

  @Test(
    "A page never replaces a stored tile, and the tile keeps its validator",
    arguments: ["{y}.png", "{y}.pbf", "{y}"])
  func stored(ending: String) async throws {
    for isPinned in [true, false] {
      for page in Self.pages {
        let body = ending == "{y}.pbf" ? ReplacementTests.vector("roads") : Self.png
        let (loader, source, cache, store, time) = try rig(
          "https://t.example/{z}/{x}/\(ending)", tile(body))
        let key = try source.key(zoom: 1, x: 0, y: 0)
        _ = try await cache.value(key)
        if isPinned { try await cache.pin([key], by: "region") }
        let entry = store[key]
        #expect(entry?.body == body)
        time.advance(by: Duration.days(8).wholeMilliseconds)
        loader.set(.answers(page))
        let error = await #expect(throws: BothyError.self) { try await cache.value(key, .reload) }
        #expect(error?.code == .unexpectedContent)
        let kept = try await cache.value(key, policy: .remoteElseLocal)
        #expect(kept.bytes == body && !kept.isFresh)
        #expect(store[key] == entry)
        try await cache.close()
      }
    }
  }

  @Test("A page instead of a tile without a stored entry is rejected")
  func first() async throws {
    for ending in ["{y}.png", "{y}.json", "{y}.mvt", "{y}"] {
      for page in Self.pages {
        let (_, source, cache, store, _) = try rig("https://t.example/{z}/{x}/\(ending)", page)
        let error = await #expect(throws: BothyError.self) {
          try await cache.value(source.key(zoom: 1, x: 0, y: 0))
        }
        #expect(error?.code == .unexpectedContent && store.keys.isEmpty)
        try await cache.close()
      }
    }
  }

  @Test("A plain resource is judged by its extension and by its stored entry")
  func plain() async throws {
    let named = try rig("https://t.example/files", Self.pages[0])
    for path in ["a.json", "a.PNG?x=1", "b/c.css", "d.geojson", "e.pbf"] {
      await #expect(throws: BothyError.self) { try await named.2.value(named.1.key(path: path)) }
    }
    for path in ["a.html", "a", "x/", "d.php"] {
      #expect(try await named.2.value(named.1.key(path: path)).bytes?.isEmpty == false)
    }
    let bodies: [(Data, String?)] = [
      (Self.png, nil), (Data("{\"a\": 1}".utf8), nil), (Data([0x1F, 0x8B, 8]), nil),
      (Data("x".utf8), "application/vnd.mapbox-vector-tile"),
    ]
    for (body, type) in bodies {
      let (loader, source, cache, store, time) = try rig("https://t.example/files", tile(body, type))
      let key = try source.key(path: "menu")
      _ = try await cache.value(key)
      let entry = store[key]
      time.advance(by: Duration.days(8).wholeMilliseconds)
      loader.set(.answers(Self.pages[0]))
      await #expect(throws: BothyError.self) { try await cache.value(key, policy: .remote) }
      #expect(store[key] == entry)
      try await cache.close()
    }
  }

  @Test("A picture is replaced by another picture, but not by another kind")
  func picture() async throws {
    let (loader, source, cache, store, time) = try rig("https://t.example/files", tile(Self.png))
    let key = try source.key(path: "menu")
    _ = try await cache.value(key)
    time.advance(by: Duration.days(8).wholeMilliseconds)
    loader.set(.answers(.init(200, "{\"error\": \"log in\"}")))
    await #expect(throws: BothyError.self) { try await cache.value(key, policy: .remote) }
    #expect(store[key]?.body == Self.png)
    loader.set(.answers(tile(Data([0xFF, 0xD8, 0xFF, 0xE0]))))
    #expect(try await cache.value(key, policy: .remote).bytes?.first == 0xFF)
  }

  /// Promises: E-19
  @Test("Tiles of no stated form are never JSON or XML other than a map's")
  func unstated() async throws {
    let template = "https://t.example/{z}/{x}/{y}"
    for answer: ScriptedLoader.Answer in [
      .init(200, fields: [.contentType: "application/json"], "{\"error\": \"sign in\"}"),
      .init(200, fields: [.contentType: "application/xml"], "<?xml version=\"1.0\"?><Gateway/>"),
    ] {
      let (_, source, cache, store, _) = try rig(template, answer)
      let error = await #expect(throws: BothyError.self) {
        try await cache.value(source.key(zoom: 1, x: 0, y: 0))
      }
      #expect(error?.code == .unexpectedContent && store.keys.isEmpty)
    }
    for text in [
      "{\"type\": \"FeatureCollection\", \"features\": []}", "{\"type\": \"Topology\", \"arcs\": []}",
      "{\"coordinates\": [1, 2], \"type\": \"Point\"}", "{\"grid\": [\" \"], \"keys\": [\"\"]}",
    ] {
      let (_, source, cache, store, _) = try rig(template, .init(200, text))
      _ = try await cache.value(source.key(zoom: 1, x: 0, y: 0))
      #expect(store.keys.count == 1)
    }
    let (_, source, cache, store, _) = try rig(template, content: .json, .init(200, "{\"error\": \"none\"}"))
    _ = try await cache.value(source.key(zoom: 1, x: 0, y: 0))
    #expect(store.keys.count == 1, "the source says that it is JSON")
  }

  /// Promises: E-19
  @Test("The form that a style states decides, whatever the address is")
  func stated() async throws {
    let (vector, square) = (ReplacementTests.vector("roads"), ReplacementTests.png("a"))
    let wide = ReplacementTests.png("logo", 3, 1)
    let cases: [(TileForm, Data, isTaken: Bool)] = [
      (.vector, vector, true), (.vector, square, false), (.vector, Data("{}".utf8), false),
      (.picture, square, true), (.picture, wide, false), (.picture, vector, false),
      (.json, Data("{}".utf8), true), (.json, square, false),
    ]
    for (form, body, isTaken) in cases {
      let store = StoreDouble()
      var source = try ResourceSource(
        "s", template: "https://t.example/{z}/{x}/{y}", userAgent: "Tests/1 (tests.example)")
      source.tileForm = form
      let cache = try ResourceCache(
        sources: [source], disk: DiskCache { _ in store }, loader: FickleLoader(.answers(tile(body))))
      // The read of other content throws.
      _ = try? await cache.value(source.key(zoom: 1, x: 0, y: 0))
      #expect(store.keys.isEmpty != isTaken, "\(form) \(body.count)")
    }
  }

  /// Promises: E-19
  @Test("A first picture is like the stored tiles beside it")
  func neighbors() async throws {
    for (ending, known, foreign) in [
      ("{y}", ReplacementTests.vector("roads"), Self.png),
      ("{y}.png", ReplacementTests.png("a"), ReplacementTests.png("logo", 3, 1)),
    ] {
      for isInMemory in [true, false] {
        let (loader, source, cache, store, _) = try rig("https://t.example/{z}/{x}/\(ending)", tile(known))
        _ = try await cache.value(source.key(zoom: 3, x: 0, y: 4))
        if !isInMemory { cache.releaseMemory() }
        loader.set(.answers(tile(foreign)))
        for (zoom, x, y) in [(3, 1, 4), (3, 7, 4), (3, 0, 3), (3, 0, 5), (4, 1, 8)] {
          let key = try source.key(zoom: zoom, x: x, y: y)
          let error = await #expect(throws: BothyError.self) { try await cache.value(key) }
          #expect(error?.code == .unexpectedContent && store[key] == nil)
        }
        let alone = try source.key(zoom: 3, x: 4, y: 0)
        _ = try await cache.value(alone)
        #expect(store[alone]?.body == foreign, "nothing near it is known")
        loader.set(.answers(tile(known)))
        let beside = try source.key(zoom: 3, x: 5, y: 0)
        _ = try await cache.value(beside)
        #expect(store[beside]?.body == known, "a wrong neighbor does no harm")
      }
    }
  }

  /// Promises: E-19
  @Test("A picture in place of a first document, font or style is rejected")
  func picturesOfOthers() async throws {
    let (_, source, cache, store, _) = try rig("https://t.example/files", tile(Self.png))
    for path in ["sprite.json", "0-255.pbf", "a.css", "a.mbtiles"] {
      await #expect(throws: BothyError.self) { try await cache.value(source.key(path: path)) }
    }
    #expect(store.keys.isEmpty)
    for path in ["sprite.png", "a", "a.php", "favicon.ico"] {
      #expect(try await cache.value(source.key(path: path)).bytes == Self.png)
    }
  }

  @Test("A source without restrictions accepts everything")
  func everything() async throws {
    let (_, source, cache, _, _) = try rig(
      "https://t.example/{z}/{x}/{y}.png", content: ContentExpectation(), Self.pages[0])
    #expect(try await cache.value(source.key(zoom: 0, x: 0, y: 0)).bytes?.isEmpty == false)
  }
}
