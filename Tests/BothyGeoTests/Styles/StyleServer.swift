import BothyCache
import BothyGeo
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Synchronization

/// The servers of a style: documents by address, and for every other address a tile or a picture, with entity tags.
final class StyleServer: ResourceLoader {
  struct State {
    var documents = StyleDocuments.all
    /// Contents that aren't text, by address.
    var contents: [String: Data] = [:]
    /// The content of every response, as of a network that wants a sign-in, or `nil`.
    var portal: Data?
    /// The statuses of responses without content, by address.
    var statuses: [String: Int] = [:]
    /// The targets of redirects, by address.
    var targets: [String: String] = [:]
    /// The media types of responses, by address.
    var types: [String: String] = [:]
    /// The archives, by address, which are read in parts.
    var archives: [String: ArchiveServer] = [:]
    var requests: [String] = []
    /// The headers of each request, by address.
    var fields: [String: HTTPFields] = [:]
    /// The number of requests before the servers stop responding, or `nil` for all.
    var answers: Int?
    /// The beginning of the addresses whose server is down, or `nil`.
    var down: String?
    /// The latch that every request passes, or `nil`.
    var gate: Latch?
  }

  let state = Mutex(State())

  func networkStates() -> AsyncStream<NetworkState>? { nil }

  func change(_ body: (inout sending State) -> Void) { state.withLock { body(&$0) } }
  var requests: [String] { state.withLock { $0.requests } }
  var fields: [String: HTTPFields] { state.withLock { $0.fields } }

  func load(_ request: ResourceRequest) async throws(LoadFailure) -> ResourceResponse {
    let url = request.url
    await state.withLock { $0.gate }?.pass()
    if let archive = state.withLock({ $0.archives[url] }) {
      state.withLock { $0.requests.append(url) }
      return try await archive.load(request)
    }
    let (type, target) = state.withLock { ($0.types[url], $0.targets[url]) }
    let answer = state.withLock { state -> (status: Int, body: Data)? in
      if let left = state.answers {
        guard left > 0 else { return nil }
        state.answers = left - 1
      }
      state.requests.append(url)
      state.fields[url] = request.fields
      if let down = state.down, url.hasPrefix(down) { return nil }
      if target != nil { return (302, Data()) }
      if let status = state.statuses[url] { return (status, Data()) }
      if let content = state.portal ?? state.contents[url] { return (200, content) }
      if let document = state.documents[url] { return (200, Data(document.utf8)) }
      let isPicture = url.contains("/dem/") || url.hasPrefix("https://relief.test/")
      if isPicture { return (200, RegionServer.picture(url, bytes: 0)) }
      return (200, RegionServer.tile(String(url.suffix(60))))
    }
    guard let answer else { throw LoadFailure(.unreachable, "Nobody answers.") }
    var fields: HTTPFields = [.eTag: "\"\(StoredDigest(of: answer.body).checksum)\""]
    fields[.cacheControl] = "max-age=600"
    fields[.contentType] = type
    fields[.location] = target
    let isHeld = answer.status == 200 && request.fields[.ifNoneMatch] == fields[.eTag]
    return ResourceResponse(
      status: isHeld ? 304 : answer.status, fields: fields,
      body: AsyncThrowingStream { stream in
        if !isHeld, !answer.body.isEmpty { stream.yield(answer.body) }
        stream.finish()
      })
  }
}

/// A cache on disk, the servers of two styles, regions, and a clock that a test controls.
struct StyleRig {
  let scratch: TemporaryFolder
  let time: VirtualTime
  let server: StyleServer
  let cache: ResourceCache
  let regions: OfflineRegions

  static let bright = "https://maps.test/bright/style.json"
  static let light = "https://api.test/style.json"

  init(_ server: StyleServer = StyleServer()) throws {
    try self.init(scratch: TemporaryFolder(), time: VirtualTime(), server)
  }

  private init(scratch: TemporaryFolder, time: VirtualTime, _ server: StyleServer) throws {
    (self.scratch, self.time, self.server) = (scratch, time, server)
    var limits = SourceLimits()
    limits.attempts = 1
    (limits.timeout, limits.patienceWithCopy) = (.seconds(86_400), .seconds(86_400))
    let bright = try ResourceSource(
      "bright", address: .anywhere, userAgent: "Tests/1 (tests.test)", limits: limits,
      allowsBulkDownload: true)
    var headers: HTTPFields = [.authorization: "Bearer mine"]
    headers[.userAgent] = "Tests/1 (tests.test)"
    let light = try ResourceSource(
      "light", address: .anywhere, headers: headers, limits: limits, secrets: ["key": "secret"],
      allowsBulkDownload: true)
    let folder = URL(filePath: scratch.path)
    cache = try ResourceCache(
      sources: [bright, light], disk: .sqliteFile(in: folder), loader: server,
      clock: LoadClock(HastyClock(), wall: time.reader()))
    regions = try OfflineRegions(cache: cache, folder: folder)
  }

  /// Returns a rig of new objects on the same files, as after the end of the process.
  func reopened() async throws -> StyleRig {
    try await cache.close()
    try regions.close()
    return try StyleRig(scratch: scratch, time: time, server)
  }

  func style(_ source: SourceID) async throws -> MapStyle {
    try await MapStyle(at: source == "bright" ? Self.bright : Self.light, of: source, in: cache)
  }

  func plan(_ source: SourceID, zooms: ClosedRange<Int> = 0...11) async throws -> OfflineRegions.Plan {
    OfflineRegions.Plan(
      name: "Oslo", style: try await style(source), area: .box(RegionRig.oslo),
      zooms: try ZoomRange(zooms.lowerBound, zooms.upperBound))
  }

  /// Returns the text of a tile that a renderer receives without a network.
  func shownTile() async throws -> String {
    cache.suspendNetwork()
    defer { cache.resumeNetwork() }
    let endpoint = MapEndpoint(try await style("bright"), in: cache)
    let answer = await endpoint.answer("tiles/openmaptiles/3/4/2", at: "http://map.test")
    return RegionServer.text(answer.body)
  }

  /// Returns a region that was loaded a day ago.
  func loaded(_ source: SourceID) async throws -> Region {
    let region = try await regions.create(try await plan(source))
    let done = try await regions.resume(region.id)
    server.change { $0.requests = [] }
    time.advance(by: Duration.days(1).wholeMilliseconds)
    return done
  }
}

/// A renderer without pictures: reads an endpoint's documents and requests all that they name.
struct StyleWalk {
  let endpoint: MapEndpoint
  private(set) var asked = 0
  private(set) var missing: [String] = []

  private static let base = "http://map.test"

  init(_ endpoint: MapEndpoint) { self.endpoint = endpoint }

  /// Requests all that a map of a box needs between two zooms.
  mutating func walk(_ box: GeoBox, _ zooms: ClosedRange<Int>, fonts: [String]) async throws {
    let style = try await document("\(Self.base)/style.json")
    for sprite in style["sprite"]?.arrayValue ?? [.object(["url": style["sprite"] ?? .null])] {
      for ending in [".json", ".png", "@2x.json", "@2x.png"] {
        try await request((sprite["url"]?.stringValue ?? "no sprite") + ending)
      }
    }
    for font in fonts {
      for range in 0..<256 {
        try await request(
          (style["glyphs"]?.stringValue ?? "no glyphs").replacing(
            "{fontstack}", with: font.replacing(" ", with: "%20")
          )
          .replacing("{range}", with: "\(range * 256)-\(range * 256 + 255)"))
      }
    }
    for (_, source) in style["sources"]?.objectValue ?? [:] {
      if let data = source["data"]?.stringValue { try await request(data) }
      var json = source
      if let url = source["url"]?.stringValue { json = try await document(url) }
      guard let template = json["tiles"]?.arrayValue?.first?.stringValue else { continue }
      try await tiles(template, source, json, box, zooms)
    }
  }

  private mutating func tiles(
    _ template: String, _ source: JSONValue, _ json: JSONValue, _ box: GeoBox, _ zooms: ClosedRange<Int>
  ) async throws {
    if template.contains("unused") { return }
    let least = Int(json["minzoom"]?.intValue ?? 0)
    let most = Int(json["maxzoom"]?.intValue ?? 22)
    let shift = source["tileSize"]?.intValue == 256 ? 1 : 0
    for zoom in Set(zooms.map { min(max($0 + shift, least), most) }) {
      // Relief is drawn below zoom 9 alone, hillshade and terrain from zoom 5 and 0 on.
      if template.contains("relief"), zoom > 9 { continue }
      for tile in try TileGrid(covering: box, zoom: zoom) {
        if let edges = json["bounds"]?.arrayValue?.compactMap(\.doubleValue), edges.count == 4,
          !tile.bounds.intersects(GeoBox(west: edges[0], south: edges[1], east: edges[2], north: edges[3]))
        {
          continue
        }
        try await request(
          template.replacing("{z}", with: "\(tile.zoom)").replacing("{x}", with: "\(tile.x)")
            .replacing("{y}", with: "\(tile.y)"))
      }
    }
  }

  private mutating func document(_ url: String) async throws -> JSONValue {
    let answer = await answer(url)
    guard answer.status == .ok else {
      missing.append(url)
      return .null
    }
    return try JSONValue(parsing: answer.body)
  }

  private mutating func request(_ url: String) async throws {
    asked += 1
    let answer = await answer(url)
    if answer.status != .ok { missing.append("\(url) \(answer.status)") }
  }

  private func answer(_ url: String) async -> MapAnswer {
    guard url.hasPrefix(Self.base + "/") else { return await endpoint.answer("elsewhere", at: url) }
    return await endpoint.answer(String(url.dropFirst(Self.base.count + 1)), at: Self.base)
  }
}
