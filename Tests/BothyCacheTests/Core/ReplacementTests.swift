import BothyCache
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Testing

@Suite("Replacement of a stored tile", .timeLimit(.minutes(5)))
struct ReplacementTests {
  /// Returns a vector tile with one empty layer of this name.
  static func vector(_ name: String) -> Data {
    let name = Array(name.utf8)
    return Data([0x1A, UInt8(name.count + 4), 0x0A, UInt8(name.count)] + name + [0x78, 0x02])
  }

  /// Returns the head and the end of a PNG of this width and height.
  static func png(_ text: String, _ width: UInt8 = 1, _ height: UInt8 = 1) -> Data {
    Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8))
      + Data([0, 0, width, 0, 0, 0, height, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0]) + Data(text.utf8)
      + Data([0, 0, 0, 0] + Array("IEND".utf8) + [0xAE, 0x42, 0x60, 0x82])
  }

  /// `<html>Sign in</html>` packed with gzip.
  static let packedPage = Data([
    0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xB3, 0xC9, 0x28, 0xC9, 0xCD, 0xB1, 0x0B,
    0xCE, 0x4C, 0xCF, 0x53, 0xC8, 0xCC, 0xB3, 0xD1, 0x07, 0xF3, 0x00, 0x56, 0x18, 0x40, 0x32, 0x14, 0x00,
    0x00, 0x00,
  ])

  struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var answer: ScriptedLoader.Answer
    var testDescription: String { name }

    init(_ name: String, _ status: Int = 200, _ type: String? = nil, _ body: Data = Data()) {
      self.name = name
      answer = ScriptedLoader.Answer(status)
      answer.pieces = body.isEmpty ? [] : [body]
      answer.fields[.contentType] = type
    }

    init(_ name: String, _ type: String? = nil, text: String) {
      self.init(name, 200, type, Data(text.utf8))
    }
  }

  /// Responses of networks that require a sign-in.
  static let portals: [Case] = [
    Case("script", text: "<script>location='http://portal/'</script>"),
    Case("comment", "text/plain", text: "<!-- portal --><p>log in"),
    Case("page as bytes", "application/octet-stream", text: "<!-- portal --><html>log in"),
    Case("JSON", "application/json", text: "{\"login\":\"http://portal/\"}"),
    Case("XML", "text/xml", text: "<?xml version=\"1.0\"?><WISPAccessGatewayParam/>"),
    Case("page as XML", "application/xml", text: "<?xml version=\"1.0\"?><!DOCTYPE html><html/>"),
    Case(
      "UTF-16", 200, "text/html; charset=utf-16",
      Data([0xFF, 0xFE]) + ("<html>x</html>".data(using: .utf16LittleEndian) ?? Data())),
    Case("packed page", 200, "text/html", packedPage),
    Case("packed page as a tile", 200, "application/vnd.mapbox-vector-tile", packedPage),
    Case("Brotli", 200, "text/html", Data([0x0B, 0x02, 0x80, 0x61, 0x62, 0x63, 0x03])),
    Case("text as a tile", "application/x-protobuf", text: "Sign in"),
    Case("cut vector tile", 200, "application/x-protobuf", vector("roads").dropLast()),
    Case("no bytes of a page", 200, "text/html"),
  ]

  /// Responses of servers for resources that are gone or must not be stored.
  static let refusals: [Case] = {
    var cases = [404, 410, 204].map { Case("\($0)", $0) } + [Case("no bytes", 200, "image/png")]
    cases.append(Case("404, not to be kept", 404))
    cases[4].answer.fields[.cacheControl] = "no-store"
    cases.append(Case("404 for a week", 404, "text/html", Data("gone".utf8)))
    cases[5].answer.fields[.cacheControl] = "max-age=604800"
    return cases
  }()

  private struct Rig {
    let loader: FickleLoader
    let source: ResourceSource
    let store = StoreDouble()
    let time = VirtualTime()
    let cache: ResourceCache
    let key: ResourceKey

    init(_ ending: String, _ first: Data, pinned: Bool, host: String = "https://t.example") async throws {
      var answer = ScriptedLoader.Answer(200, fields: [.eTag: "\"1\"", .cacheControl: "max-age=60"])
      answer.pieces = [first]
      loader = FickleLoader(.answers(answer))
      source = try ResourceSource(
        "s", template: "\(host)/{z}/{x}/{y}\(ending)", userAgent: "Tests/1 (tests.example)")
      let store = store
      let time = time
      cache = try ResourceCache(
        sources: [source], disk: DiskCache { _ in store }, loader: loader,
        clock: LoadClock(VirtualClock(), wall: time.reader()))
      key = try source.key(zoom: 4, x: 8, y: 6)
      _ = try await cache.value(key)
      if pinned { try await cache.pin([key], by: "region") }
      time.advance(by: Duration.days(2).wholeMilliseconds)
    }

    /// Requests the key in every way, and returns the bytes stored afterwards.
    func askInEveryWay(_ answer: ScriptedLoader.Answer) async throws -> Data? {
      loader.set(.answers(answer))
      let policies = [ReadPolicy.remote, .remoteElseLocal, .localElseRemote]
      for options in [.reload] + policies.map({ ResourceCache.Options(policy: $0) }) {
        // The read throws or returns the stored entry, which is checked below.
        _ = try? await cache.value(key, options)
      }
      for priority in [ResourceCache.Priority.visible, .background] {
        do {
          for try await read in cache.values(key, policy: .localThenRemote, priority: priority) {
            #expect(read.bytes == store[key]?.body)
          }
        } catch {
          #expect(error.code != .storage)
        }
      }
      return store[key]?.body
    }
  }

  /// Promises: E-19, R-30
  @Test(
    "A sign-in page never replaces a vector tile and is never stored as one",
    arguments: portals)
  func portalForVectors(_ portal: Case) async throws {
    for ending in [".pbf", ".mvt", ""] {
      for isPinned in [true, false] {
        let rig = try await Rig(ending, Self.vector("v1"), pinned: isPinned)
        let before = rig.store[rig.key]
        #expect(try await rig.askInEveryWay(portal.answer) == Self.vector("v1"), "\(ending)")
        #expect(rig.store[rig.key] == before, "its validator and its times are those of before")
      }
    }
    let rig = try await Rig(".pbf", Self.vector("v1"), pinned: false)
    rig.loader.set(.answers(portal.answer))
    let other = try rig.source.key(zoom: 4, x: 9, y: 6)
    if portal.answer.pieces.isEmpty { return }
    let error = await #expect(throws: BothyError.self) { try await rig.cache.value(other) }
    #expect(error?.code == .unexpectedContent && rig.store[other] == nil)
  }

  /// Promises: E-19, R-30
  @Test("A sign-in page of any kind replaces no picture", arguments: portals)
  func portalForPictures(_ portal: Case) async throws {
    for isPinned in [true, false] {
      let rig = try await Rig(".png", Self.png("v1"), pinned: isPinned)
      #expect(try await rig.askInEveryWay(portal.answer) == Self.png("v1"))
    }
  }

  @Test("A pinned tile that is gone on the server stays, and the read throws", arguments: refusals)
  func gone(_ refusal: Case) async throws {
    for (ending, body) in [(".png", Self.png("v1")), (".pbf", Self.vector("v1")), ("", Data([1, 2, 3]))] {
      let rig = try await Rig(ending, body, pinned: true)
      #expect(try await rig.askInEveryWay(refusal.answer) == body, "\(ending)")
      let read = try await rig.cache.value(rig.key, policy: .remoteElseLocal)
      #expect(read.bytes == body)
      guard case .stale(.refreshFailed(let error)) = read.freshness else {
        Issue.record("\(read.freshness)")
        return
      }
      #expect(error.code == .absent && error.message.contains("pinned"), "\(error.message)")
    }
  }

  @Test("An entry without pins is removed when its server says it is gone")
  func unpinned() async throws {
    let rig = try await Rig(".png", Self.png("v1"), pinned: false)
    rig.loader.set(.answers(ScriptedLoader.Answer(404)))
    #expect(try await rig.cache.value(rig.key).isAbsent)
    #expect(rig.store[rig.key]?.metadata.status == 404)
  }

  @Test("A response with no-store removes no pinned tile and is returned to its readers")
  func noStore() async throws {
    for isPinned in [true, false] {
      let rig = try await Rig(".png", Self.png("v1"), pinned: isPinned)
      var answer = ScriptedLoader.Answer(200, fields: [.cacheControl: "no-store"])
      answer.pieces = [Self.png("v2")]
      rig.loader.set(.answers(answer))
      #expect(try await rig.cache.value(rig.key, policy: .remote).bytes == Self.png("v2"))
      #expect(rig.store[rig.key]?.body == (isPinned ? Self.png("v1") : nil))
    }
  }

  @Test("A shared cache keeps a pinned entry when the server answers each user alone")
  func answersOne() async throws {
    var rule = FreshnessRule.http
    rule.isShared = true
    let control = Locked("max-age=60")
    let rig = try CacheRig(freshness: rule) { _ in
      .init(200, fields: [.cacheControl: control.value], control.value)
    }
    let (pinned, other) = (try rig.tile(1), try rig.tile(2))
    for key in [pinned, other] { _ = try await rig.cache.value(key) }
    try await rig.cache.pin([pinned], by: "region")
    control.value = "private"
    for key in [pinned, other] {
      #expect(try await text(rig.cache.value(key, policy: .remote)) == "private")
    }
    #expect(rig.store[pinned] != nil && rig.store[other] == nil)
  }

  @Test("A tile that broke off with its connection is not stored")
  func cut() async throws {
    for (ending, whole, next) in [
      (".png", Self.png("v1"), Self.png("v2")), (".pbf", Self.vector("v1"), Self.vector("v2")),
      ("", Data([1, 2, 3]), Data([1, 2, 3, 4])),
    ] {
      for isPinned in [true, false] {
        let rig = try await Rig(ending, whole, pinned: isPinned)
        var answer = ScriptedLoader.Answer(200)
        answer.endsByClosing = true
        answer.pieces = [next.dropLast(1)]
        #expect(try await rig.askInEveryWay(answer) == whole)
        answer.pieces = [next]
        let hasEnd = !ending.isEmpty
        #expect(try await rig.askInEveryWay(answer) == (hasEnd ? next : whole))
        answer.endsByClosing = false
        #expect(try await rig.askInEveryWay(answer) == next)
      }
    }
  }

  @Test("Only a newer picture of equal format and size replaces a tile")
  func otherPicture() async throws {
    for body in [
      Self.png("logo", 2, 1), Data("GIF89a".utf8) + Data([0, 1, 0, 1, 0x3B]), Data("<svg/>".utf8),
    ] {
      let rig = try await Rig(".png", Self.png("v1"), pinned: true)
      var answer = ScriptedLoader.Answer(200)
      answer.pieces = [body]
      #expect(try await rig.askInEveryWay(answer) == Self.png("v1"))
      let error = await #expect(throws: BothyError.self) {
        try await rig.cache.value(rig.key, .reload)
      }
      #expect(error?.code == .unexpectedContent)
      answer.pieces = [Self.png("v2")]
      #expect(try await rig.askInEveryWay(answer) == Self.png("v2"))
    }
  }

  @Test("A redirect to another host replaces entries over HTTPS, but not over HTTP")
  func redirect() async throws {
    for (host, isTaken) in [("http://t.example", false), ("https://t.example", true)] {
      let rig = try await Rig(".png", Self.png("v1"), pinned: true, host: host)
      let target = isTaken ? "https://cdn.example/a.png" : "http://portal.example/a.png"
      var answer = ScriptedLoader.Answer(200)
      answer.pieces = [Self.png("v2")]
      rig.loader.set(.redirects(target, answer))
      let read = try? await rig.cache.value(rig.key, .reload)  // it throws for a stranger's content
      #expect((read != nil) == isTaken)
      #expect(rig.store[rig.key]?.body == Self.png(isTaken ? "v2" : "v1"))
    }
  }
}
