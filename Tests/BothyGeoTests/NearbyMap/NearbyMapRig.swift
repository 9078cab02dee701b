import BothyCache
import BothyGeo
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Synchronization

/// A server of tiles that a test changes: each tile has a café named after the version, and an entity tag.
final class TileServer: ResourceLoader {
  private struct State {
    var version = 1
    var isDown = false
    var body: String?
    var type: String?
    /// The bodies of single tiles, by the suffixes of their addresses. They have a tag of their own.
    var single: [String: String] = [:]
    /// The status of every response in place of tiles, or `nil` for tiles.
    var status: Int?
    var requests: [ResourceRequest] = []
    var gate: [CheckedContinuation<Void, Never>] = []
    /// The suffix of the addresses whose responses are blocked, or `nil` for all addresses.
    var heldBack: String? = "none"
  }

  private let state = Mutex(State())

  var requests: [ResourceRequest] { state.withLock { $0.requests } }

  func set(version: Int) { state.withLock { $0.version = version } }
  func set(isDown: Bool) { state.withLock { $0.isDown = isDown } }
  /// Sets the body of every tile, or `nil` for places.
  func set(body: String?, type: String? = nil) { state.withLock { ($0.body, $0.type) = (body, type) } }
  /// Sets the body of one tile, in place of its places.
  func set(body: String, of tile: Tile) { state.withLock { $0.single["/\(tile).json"] = body } }
  /// Sets the status of every response, which then has no bytes, or `nil` for tiles.
  func set(status: Int?) { state.withLock { $0.status = status } }
  func forget() { state.withLock { $0.requests = [] } }

  /// Blocks responses until `letGo`, for the address of one tile or for all.
  func holdBack(_ tile: Tile? = nil) {
    state.withLock { $0.heldBack = tile.map { "/\($0).json" } }
  }

  func answerAll() {
    let waiting = state.withLock { state in
      state.heldBack = "none"
      defer { state.gate = [] }
      return state.gate
    }
    for waiter in waiting { waiter.resume() }
  }

  func load(_ request: ResourceRequest) async throws(LoadFailure) -> ResourceResponse {
    let (version, isDown, body, type, status) = state.withLock { state in
      state.requests.append(request)
      return (state.version, state.isDown, state.body, state.type, state.status)
    }
    let single = state.withLock { $0.single.first { request.url.hasSuffix($0.key) }?.value }
    await withCheckedContinuation { continuation in
      let isHeldBack = state.withLock { state in
        let isHeldBack = state.heldBack.map { request.url.hasSuffix($0) } ?? true
        if isHeldBack { state.gate.append(continuation) }
        return isHeldBack
      }
      if !isHeldBack { continuation.resume() }
    }
    if isDown { throw LoadFailure(.unreachable, "The server is down.") }
    let tag = single == nil ? "\"v\(version)\"" : "\"single\""
    let isSame = request.fields[.ifNoneMatch] == tag
    let text = single ?? body ?? Self.tile(request.url, version)
    let (stream, continuation) = AsyncThrowingStream.makeStream(of: Data.self, throwing: (any Error).self)
    if !isSame, status == nil { continuation.yield(Data(text.utf8)) }
    continuation.finish()
    if let status { return ResourceResponse(status: status, fields: [:], body: stream) }
    var fields: HTTPFields = [.eTag: tag]
    fields[.contentType] = type
    return ResourceResponse(status: isSame ? 304 : 200, fields: fields, body: stream)
  }

  /// Returns a tile with a café in the middle of the tile that an address names.
  private static func tile(_ url: String, _ version: Int) -> String {
    let parts = url.split { $0 == "/" || $0 == "." }.compactMap { Int($0) }
    guard parts.count == 3, let tile = try? Tile(x: parts[1], y: parts[2], zoom: parts[0]) else { return "" }
    let center = tile.bounds.center
    return TileDocument.tile(
      TileDocument.feature(
        "amenity", "cafe", ids: "[\(tile.x * 100_000 + tile.y)]",
        geometry: TileDocument.shape("Point", "[\(center.longitude), \(center.latitude)]"),
        properties: #"{"amenity": "cafe", "name": "Version \#(version)"}"#))
  }
}

/// An atlas with a server and a clock that a test controls.
struct NearbyMapRig: Sendable {
  let start = Coordinate(latitude: 43.462, longitude: -80.52)
  let scratch: TemporaryFolder
  let server = TileServer()
  let time = VirtualTime()
  let clock = VirtualClock()
  let places: PlaceStore
  let store: DiskStore
  let cache: ResourceCache
  let source: ResourceSource
  let mine: SavedPlaces
  let atlas: NearbyMap
  /// The tiles around the start.
  let cover: Set<Tile>

  init(requestsPerHost: Int = 6) throws {
    scratch = try TemporaryFolder()
    places = try PlaceStore(path: scratch.file("places.sqlite"))
    var limits = SourceLimits()
    limits.attempts = 1
    limits.requestsPerHost = requestsPerHost
    source = try ResourceSource(
      "walks", template: "https://tiles.example/{z}/{x}/{y}.json", freshness: .fixed(.days(7)),
      userAgent: "Tests/1 (tests.example)", limits: limits)
    let loadClock = LoadClock(clock, wall: time.reader())
    let store = try DiskStore(path: scratch.file("cache.sqlite"))
    self.store = store
    cache = try ResourceCache(
      sources: [source], disk: DiskCache { _ in store }, loader: server,
      clock: loadClock)
    mine = SavedPlaces(
      try LocalStore(at: scratch.file("mine.sqlite"), schema: StoreSchema(types: SavedPlaces.types)))
    atlas = NearbyMap(places: places, cache: cache, source: source, saved: mine, clock: loadClock)
    cover = Set(try NearbyMapPlan(around: start, held: [:], at: 0).cover)
  }

  func pass(_ duration: Duration) { time.advance(by: Int64(duration / .milliseconds(1))) }

  func names() throws -> Set<String> { try Set(places.in(box: .world).compactMap(\.name)) }
}

/// Collects the values of a stream until it ends.
struct Gathering<Value: Sendable> {
  private let task: Task<[Value], Never>

  init(_ stream: AsyncStream<Value>) { task = Task { await stream.reduce(into: []) { $0.append($1) } } }

  func all() async -> [Value] { await task.value }
}
