import BothyCache
import BothyGeo
import BothyStore
import BothyTesting
import Foundation
import HTTPTypes
import Testing

@Suite("A renderer's endpoint", .timeLimit(.minutes(5)))
struct MapEndpointTests {
  /// An endpoint that listens, with its address in parts.
  private struct Listening {
    let rig: StyleRig
    let endpoint: MapEndpoint
    let port: Int
    /// The path of the style, which begins with the token.
    let path: String

    init(_ source: SourceID = "bright") async throws {
      rig = try StyleRig()
      endpoint = MapEndpoint(try await rig.style(source), in: rig.cache)
      let url = try endpoint.start()
      port = try #require(url.port)
      path = url.path
    }

    func get(_ path: String, _ fields: String = "", method: String = "GET", host: String? = nil) async throws
      -> String
    {
      let host = host ?? "127.0.0.1:\(port)"
      return try await LoopbackClient.send(
        "\(method) \(path) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\(fields)\r\n", to: port)
    }

    func sibling(_ name: String) -> String { path.replacing("style.json", with: name) }
  }

  /// Promises: A-74
  @Test("A style comes with addresses of the endpoint, and no other")
  func style() async throws {
    let there = try await Listening()
    let answer = try await there.get(there.path)
    #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n") && answer.contains("application/json"))
    #expect(!answer.contains("maps.test"))
    #expect(
      answer.contains("http://127.0.0.1:\(there.port)\(there.sibling("glyphs/{fontstack}/{range}.pbf"))"))
    let document = try await there.get(there.sibling("sources/openmaptiles.json"))
    #expect(document.contains("/tiles/openmaptiles/{z}/{x}/{y}") && document.contains("© OpenMapTiles"))
    #expect(!document.contains("maps.test"))
    let tile = try await there.get(there.sibling("tiles/openmaptiles/3/4/2"))
    #expect(tile.contains("omt/3/4/2.pbf"))
    #expect(try await there.get(there.sibling("tiles/openmaptiles/3/4/2.pbf")).contains("omt/3/4/2.pbf"))
    #expect(
      try await there.get(there.sibling("glyphs/Noto%20Sans%20Bold/256-511.pbf")).hasPrefix("HTTP/1.1 200"))
    #expect(try await there.get(there.sibling("sprites/default@2x.png")).hasPrefix("HTTP/1.1 200"))
  }

  /// Promises: A-74
  @Test("Font files have addresses of the endpoint, and those of other fonts none")
  func fontFaces() async throws {
    let rig = try StyleRig()
    let faces = """
      {"Noto Sans Bold": [{"url": "khmer.ttf", "unicode-range": ["U+1780-17FF"]}], "Noto Sans Regular": "all.ttf",
       "Other": "https://elsewhere.test/other.ttf"}
      """
    rig.server.change { [faces] in
      $0.documents[StyleRig.bright] = StyleDocuments.bright.replacing(
        #"{"version""#, with: #"{"font-faces": \#(faces), "version""#)
    }
    let endpoint = MapEndpoint(try await rig.style("bright"), in: rig.cache)
    let style = try JSONValue(parsing: await endpoint.answer("style.json", at: "http://map.test").body)
    let found = style["font-faces"]
    let part = found?["Noto Sans Bold"]?.arrayValue?.first
    #expect(part?["url"]?.stringValue == "http://map.test/fonts/Noto%20Sans%20Bold/0")
    #expect(part?["unicode-range"]?.arrayValue?.count == 1)
    #expect(found?["Noto Sans Regular"]?.stringValue == "http://map.test/fonts/Noto%20Sans%20Regular/0")
    #expect(found?["Other"] == nil)
    _ = await endpoint.answer("fonts/Noto%20Sans%20Bold/0", at: "http://map.test")
    #expect(rig.server.requests.last == "https://maps.test/bright/khmer.ttf")
    for path in ["fonts/Noto%20Sans%20Bold/1", "fonts/Other/0", "fonts/Noto%20Sans%20Bold/-1"] {
      #expect(await endpoint.answer(path, at: "http://map.test").status == .notFound, "\(path)")
    }
  }

  /// Promises: A-74
  @Test("Nothing is answered without the token, or under another host's name")
  func access() async throws {
    let there = try await Listening()
    for path in ["/style.json", "/", "//style.json", "/\(String(repeating: "0", count: 64))/style.json"] {
      #expect(try await there.get(path).hasPrefix("HTTP/1.1 404"), "\(path)")
    }
    for host in ["evil.test", "evil.test:\(there.port)", "127.0.0.1", "127.0.0.1:1", "[::1]:\(there.port)"] {
      #expect(try await there.get(there.path, host: host).hasPrefix("HTTP/1.1 421"), "\(host)")
    }
    #expect(try await there.get(there.path, host: "LOCALHOST:\(there.port)").hasPrefix("HTTP/1.1 200"))
    #expect(there.path.count == "/style.json".count + 65)
    let other = try await Listening()
    #expect(other.path != there.path)
  }

  /// Promises: A-74
  @Test("It listens on this machine's own address alone")
  func loopback() async throws {
    let there = try await Listening()
    await #expect(throws: LoopbackClient.NoConnection.self) {
      _ = try await LoopbackClient.send("GET / HTTP/1.1\r\n\r\n", to: there.port, at: 0x7F00_0002)
    }
  }

  /// Promises: A-74
  @Test(
    "What the style doesn't name has no address, so it is no proxy",
    arguments: [
      "https://evil.test/", "tiles/evil/0/0/0", "tiles/openmaptiles/13/0/0", "tiles/openmaptiles/3/8/0",
      "tiles/openmaptiles/3/-1/0", "tiles/openmaptiles/3/4", "glyphs/Other/0-255.pbf",
      "glyphs/Noto%20Sans%20Bold/0-1.pbf",
      "glyphs/Noto%20Sans%20Bold/65536-65791.pbf", "sprites/other.png", "sprites/default@3x.png",
      "sources/evil.json",
      "data/openmaptiles", "../style.json", "sources/..%2Fstyle.json", "",
    ])
  func noProxy(_ path: String) async throws {
    let rig = try StyleRig()
    let endpoint = MapEndpoint(try await rig.style("bright"), in: rig.cache)
    let before = rig.server.requests.count
    #expect(await endpoint.answer(path, at: "http://map.test").status == .notFound)
    #expect(rig.server.requests.count == before)
  }

  @Test(
    "Requests that HTTP leaves open are refused, and the next one is answered",
    arguments: [
      ("POST /x HTTP/1.1\r\nHost: a\r\n\r\n", 405), ("GET /x HTTP/1.0\r\nHost: a\r\n\r\n", 505),
      ("GET /x HTTP/1.1\r\n\r\n", 400), ("GET /x HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
      ("GET http://a/x HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET /x  HTTP/1.1\r\nHost: a\r\n\r\n", 400),
      ("GET /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", 413),
      ("GET /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 413),
      ("GET /x HTTP/1.1\r\nHost a\r\n\r\n", 400), ("GET /x HTTP/1.1\r\nHost: a\r\n b: c\r\n\r\n", 400),
      ("GET /x HTTP/1.1\nHost: a\r\n\r\n", 400), ("GET /\u{E9} HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ])
  func strict(_ bytes: String, _ status: Int) async throws {
    let there = try await Listening()
    #expect(try await LoopbackClient.send(bytes, to: there.port).hasPrefix("HTTP/1.1 \(status) "))
    #expect(try await there.get(there.path).hasPrefix("HTTP/1.1 200"))
  }

  @Test("A head without end is cut off")
  func long() async throws {
    let there = try await Listening()
    let text = "GET /x HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "x", count: 40_000)
    #expect(try await LoopbackClient.send(text, to: there.port).isEmpty)
  }

  @Test("HEAD has no bytes, an unchanged answer neither, and one connection takes several requests")
  func conditions() async throws {
    let there = try await Listening()
    let path = there.sibling("tiles/openmaptiles/0/0/0")
    let whole = try await there.get(path)
    let head = try await there.get(path, method: "HEAD")
    #expect(head.hasSuffix("\r\n\r\n") && head.contains("Content-Length: ") && whole.count > head.count)
    let line = try #require(whole.split(separator: "\r\n").first { $0.lowercased().hasPrefix("etag: ") })
    let held = try await there.get(path, "If-None-Match: \(line.dropFirst(6))\r\n")
    #expect(held.hasPrefix("HTTP/1.1 304") && held.hasSuffix("\r\n\r\n"))
    let request = "HEAD \(path) HTTP/1.1\r\nHost: localhost:\(there.port)\r\n"
    let both = try await LoopbackClient.send(
      "\(request)\r\n\(request)Connection: close\r\n\r\n", to: there.port)
    #expect(both.split(separator: "HTTP/1.1 200 OK").count == 2)
  }

  @Test("An absent tile is 404, one that can't be had is 504")
  func absence() async throws {
    let rig = try StyleRig()
    rig.server.change { state in
      for host in ["a", "b"] { state.statuses["https://\(host).maps.test/omt/1/0/0.pbf"] = 404 }
    }
    let endpoint = MapEndpoint(try await rig.style("bright"), in: rig.cache)
    #expect(await endpoint.answer("tiles/openmaptiles/1/0/0", at: "http://map.test").status == .notFound)
    rig.cache.suspendNetwork()
    let lacking = await endpoint.answer("tiles/openmaptiles/1/1/0", at: "http://map.test")
    #expect(lacking.status == .gatewayTimeout && lacking.fields[.cacheControl] == "no-store")
    #expect(await endpoint.answer("style.json", at: "http://map.test").status == .ok, "the style is known")
  }

  @Test("A source with a document and own tiles takes the rest from the document")
  func documentAndTiles() async throws {
    let rig = try StyleRig()
    rig.server.change { state in
      state.documents[StyleRig.bright] = """
        {"version": 8, "layers": [{"id": "water", "type": "fill", "source": "both"}], "sources": {"both": {
         "type": "vector", "url": "https://maps.test/both.json", "tiles": ["own/{z}/{x}/{y}.pbf"], "scheme": "xyz"}}}
        """
      state.documents["https://maps.test/both.json"] = """
        {"tiles": ["theirs/{z}/{x}/{y}.pbf"], "scheme": "tms", "minzoom": 2, "maxzoom": 5, "attribution": "© Both"}
        """
    }
    let style = try await rig.style("bright")
    let part = try #require(style.closure.tiles.first)
    #expect(part.zooms.lowest == 2 && part.zooms.highest == 5 && part.attribution == "© Both")
    #expect(part.template == "https://maps.test/bright/own/{z}/{x}/{y}.pbf")
    let endpoint = MapEndpoint(style, in: rig.cache)
    let shown = try JSONValue(parsing: await endpoint.answer("style.json", at: "http://map.test").body)
    let source = try #require(shown["sources"]?["both"])
    #expect(source["url"]?.stringValue == "http://map.test/sources/both.json" && source["tiles"] == nil)
    let document = await endpoint.answer("sources/both.json", at: "http://map.test")
    let json = try JSONValue(parsing: document.body)
    #expect(json["maxzoom"]?.intValue == 5 && json["scheme"] == nil && source["scheme"] == nil)
    let tile = await endpoint.answer("tiles/both/3/4/2", at: "http://map.test")
    #expect(RegionServer.text(tile.body).hasSuffix("own/3/4/2.pbf"))
  }

  @Test("Glyphs that don't exist are empty for the renderer, and tiles are not")
  func absentGlyphs() async throws {
    let rig = try StyleRig()
    let address = "https://maps.test/fonts/Noto%20Sans%20Bold/256-511.pbf"
    rig.server.change { $0.statuses[address] = 404 }
    let endpoint = MapEndpoint(try await rig.style("bright"), in: rig.cache)
    for isOnline in [true, false] {
      if !isOnline { rig.cache.suspendNetwork() }
      let answer = await endpoint.answer("glyphs/Noto%20Sans%20Bold/256-511.pbf", at: "http://map.test")
      #expect(answer.status == .noContent && answer.body.isEmpty)
    }
    let unknown = await endpoint.answer("glyphs/Noto%20Sans%20Bold/0-255.pbf", at: "http://map.test")
    #expect(unknown.status == .gatewayTimeout)
  }

  @Test("Glyphs and tiles that a server calls empty are empty for the renderer")
  func empty() async throws {
    let there = try await Listening()
    there.rig.server.change { state in
      state.statuses["https://maps.test/fonts/Noto%20Sans%20Bold/256-511.pbf"] = 204
      for host in ["a", "b"] { state.statuses["https://\(host).maps.test/omt/1/0/0.pbf"] = 204 }
    }
    for isOnline in [true, false] {
      if !isOnline { there.rig.cache.suspendNetwork() }
      for name in ["glyphs/Noto%20Sans%20Bold/256-511.pbf", "tiles/openmaptiles/1/0/0"] {
        let answer = try await there.get(there.sibling(name))
        #expect(answer.hasPrefix("HTTP/1.1 204 ") && answer.hasSuffix("\r\n\r\n"), "\(name)")
        #expect(!answer.contains("Content-Length"), "\(name)")
      }
    }
  }

  @Test("Bytes that a server calls a page are no page here")
  func pages() async throws {
    let rig = try StyleRig()
    rig.server.change { state in
      for host in ["a", "b"] { state.types["https://\(host).maps.test/omt/0/0/0.pbf"] = "text/html" }
    }
    let endpoint = MapEndpoint(
      try await rig.style("bright"), in: rig.cache,
      pages: ["index.html": MapEndpoint.Page(type: "text/html", bytes: Data("<p>".utf8))])
    let page = await endpoint.answer("index.html", at: "http://map.test")
    #expect(page.fields[.contentSecurityPolicy]?.contains("default-src 'none'") == true)
    #expect(page.fields[.accessControlAllowOrigin] == nil)
    let tile = await endpoint.answer("tiles/openmaptiles/0/0/0", at: "http://map.test")
    #expect(tile.status == .ok && tile.fields[.contentType] == "application/octet-stream")
    #expect(tile.fields[.xContentTypeOptions] == "nosniff" && tile.fields[.cacheControl] == "no-cache")
  }

  @Test("A stopped endpoint starts again, and a port in use is refused")
  func stopped() async throws {
    let there = try await Listening()
    #expect(try there.endpoint.start().port == there.port, "it listens already")
    let other = MapEndpoint(try await there.rig.style("bright"), in: there.rig.cache)
    let error = #expect(throws: BothyError.self) { try other.start(port: there.port) }
    #expect(error?.code == .unavailable)
    there.endpoint.stop()
    await #expect(throws: LoopbackClient.NoConnection.self) { _ = try await there.get(there.path) }
    let again = try there.endpoint.start()
    let port = try #require(again.port)
    #expect(
      try await LoopbackClient.send(
        "GET \(again.path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n\r\n", to: port
      ).hasPrefix("HTTP/1.1 200"))
  }

  @Test("A stopped endpoint takes no connection of the next one")
  func restarted() async throws {
    let there = try await Listening()
    for _ in 0..<100 {
      there.endpoint.stop()
      let again = try there.endpoint.start()
      let port = try #require(again.port)
      let answer = try await LoopbackClient.send(
        "GET \(again.path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n\r\n", to: port)
      #expect(answer.hasPrefix("HTTP/1.1 200"))
    }
  }

  @Test("Readers that have left a server that hangs keep no place from others")
  func left() async throws {
    let there = try await Listening()
    let gate = Latch()
    there.rig.server.change { $0.gate = gate }
    for tile in 0..<64 {
      let path = there.sibling("tiles/openmaptiles/3/\(tile / 8)/\(tile % 8)")
      try LoopbackClient.leave(
        "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(there.port)\r\n\r\n", to: there.port)
    }
    // The endpoint notices one after another that they have left.
    while try await !there.get(there.path).hasPrefix("HTTP/1.1 200") { try Task.checkCancellation() }
    there.endpoint.stop()
    gate.open()
  }
}
