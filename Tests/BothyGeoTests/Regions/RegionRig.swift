import BothyCache
import BothyGeo
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Synchronization

/// A clock whose sleeps end at once and advance the time to the deadline. Long sleeps never end, by default those of an
/// hour or more, as they guard rare events.
struct HastyClock: Clock {
  struct Instant: InstantProtocol {
    var offset: Duration
    func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    func duration(to other: Instant) -> Duration { other.offset - offset }
    static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
  }

  var endless = Duration.seconds(3600)
  /// Called at the beginning of each sleep that ends.
  var asleep: @Sendable () -> Void = {}
  private let offset = Locked(Duration.zero)

  var now: Instant { Instant(offset: offset.value) }
  var minimumResolution: Duration { .nanoseconds(1) }

  func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    try Task.checkCancellation()
    if now.duration(to: deadline) >= endless {
      try await hang()
    }
    asleep()
    offset.change { $0 = max($0, deadline.offset) }
    await Task.yield()
  }
}

/// A server of tiles with entity tags. Each tile contains its address and version.
final class RegionServer: ResourceLoader {
  struct State {
    var requests: [(path: String, isConditional: Bool)] = []
    var versions: [String: Int] = [:]
    /// The status of the response in place of a tile, by path.
    var statuses: [String: Int] = [:]
    /// The number of requests before the server stops responding, or `nil` for all.
    var answers: Int?
    var running = 0
    var most = 0
    var fields: HTTPFields = [:]
    /// The body and type of every response in place of the tiles.
    var page: (body: String, type: String?)?
    /// The content of each response by its path, without an entity tag, or `nil` for vector tiles.
    var content: (@Sendable (_ path: String) -> Data)?
    /// True if each conditional request has a 304 with the tag of another content.
    var confirmsOthers = false
    /// The host to which every request is redirected, which has a tile for each address, or `nil`.
    var portal: String?
    /// The latch at which requests wait after this number of others.
    var hold: (after: Int, latch: Latch)?
  }

  let state = Mutex(State())
  /// The gate that each request passes.
  let gate: Latch?
  private let network: AsyncStream<NetworkState>?

  init(gate: Latch? = nil, network: AsyncStream<NetworkState>? = nil) {
    self.gate = gate
    self.network = network
  }

  func networkStates() -> AsyncStream<NetworkState>? { network }

  func change(_ body: (inout sending State) -> Void) { state.withLock { body(&$0) } }
  var requests: [(path: String, isConditional: Bool)] { state.withLock { $0.requests } }
  var paths: [String] { requests.map(\.path) }
  var most: Int { state.withLock { $0.most } }

  func forget() { change { $0.requests = [] } }

  /// Returns a vector tile with one empty layer that has the text as name.
  static func tile(_ text: String) -> Data {
    let name = Array(text.utf8)
    return Data([0x1A, UInt8(name.count + 4), 0x0A, UInt8(name.count)] + name + [0x78, 0x02])
  }

  /// Returns the head and the end of a picture of 256 pixels, with a text and further bytes. With 2,000 bytes it is
  /// taken for one of more than one color.
  static func picture(_ text: String, bytes: Int = 2000) -> Data {
    let head: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8)
    let size: [UInt8] = [0, 0, 1, 0, 0, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0]
    let end: [UInt8] = [0, 0, 0, 0] + Array("IEND".utf8) + [0xAE, 0x42, 0x60, 0x82]
    return Data(head + size) + Data(text.utf8) + Data(count: bytes) + Data(end)
  }

  /// Returns the name of the layer of such a tile, or other bytes as text.
  static func text(_ body: Data) -> String {
    let isTile = body.first == 0x1A && body.count > 6
    return String(decoding: isTile ? body.dropFirst(4).dropLast(2) : body, as: UTF8.self)
  }

  func load(_ request: ResourceRequest) async throws(LoadFailure) -> ResourceResponse {
    let path = String(request.url.split(separator: "/", maxSplits: 2).last ?? "")
    state.withLock { state in
      state.running += 1
      state.most = max(state.most, state.running)
    }
    defer { state.withLock { $0.running -= 1 } }
    await gate?.pass()
    let hold = state.withLock { state in
      state.hold.flatMap { state.requests.count >= $0.after ? $0.latch : nil }
    }
    await hold?.pass()
    let answer = state.withLock { state -> (status: Int, body: Data, fields: HTTPFields)? in
      if let left = state.answers {
        guard left > 0 else { return nil }
        state.answers = left - 1
      }
      state.requests.append((path, request.fields[.ifNoneMatch] != nil))
      if let portal = state.portal {
        guard request.url.contains(portal) else {
          return (302, Data(), [.location: "http://\(portal)/\(path)"])
        }
        return (200, Self.tile("\(path) of the portal"), [:])
      }
      if let status = state.statuses[path] { return (status, Data(), state.fields) }
      if let page = state.page {
        var fields: HTTPFields = [.eTag: "\"page\""]
        fields[.contentType] = page.type
        return (200, Data(page.body.utf8), fields)
      }
      if let content = state.content { return (200, content(path), [:]) }
      if state.confirmsOthers, request.fields[.ifNoneMatch] != nil {
        return (304, Data(), [.eTag: "\"other\""])
      }
      let version = state.versions[path] ?? 1
      var fields = state.fields
      fields[.eTag] = "\"\(version)\""
      fields[.contentType] = "application/vnd.mapbox-vector-tile"
      if request.fields[.ifNoneMatch] == fields[.eTag] { return (304, Data(), fields) }
      return (200, Self.tile("\(path) v\(version)"), fields)
    }
    guard let answer else { throw LoadFailure(.unreachable, "Nobody answers.") }
    return ResourceResponse(
      status: answer.status, fields: answer.fields,
      body: AsyncThrowingStream { stream in
        if !answer.body.isEmpty { stream.yield(answer.body) }
        stream.finish()
      })
  }
}

/// A cache on disk, a server, regions, and a clock that a test controls. The disk outlives the objects.
struct RegionRig {
  let scratch: TemporaryFolder
  let time: VirtualTime
  let server: RegionServer
  let source: ResourceSource
  let cache: ResourceCache
  let regions: OfflineRegions
  private let inFiles: Bool
  private let limitsOfDisk: DiskCache.Limits

  init(
    _ server: RegionServer = RegionServer(), allowsBulk: Bool = true, limits: RegionLimits = RegionLimits(),
    disk: DiskCache.Limits = DiskCache.Limits(), policy: PrefetchPolicy = PrefetchPolicy(concurrentLoads: 4),
    inFiles: Bool = false, scheme: String = "https", clock: HastyClock = HastyClock()
  ) throws {
    try self.init(
      scratch: TemporaryFolder(), time: VirtualTime(), server, allowsBulk: allowsBulk, limits: limits,
      disk: disk, policy: policy, inFiles: inFiles, scheme: scheme, clock: clock)
  }

  private init(
    scratch: TemporaryFolder, time: VirtualTime, _ server: RegionServer, allowsBulk: Bool = true,
    limits: RegionLimits = RegionLimits(), disk: DiskCache.Limits = DiskCache.Limits(),
    policy: PrefetchPolicy = PrefetchPolicy(concurrentLoads: 4), inFiles: Bool = false,
    scheme: String = "https", clock: HastyClock = HastyClock()
  ) throws {
    (self.inFiles, limitsOfDisk) = (inFiles, disk)
    self.scratch = scratch
    self.time = time
    self.server = server
    source = try Self.source(allowsBulk: allowsBulk, scheme: scheme)
    let folder = URL(filePath: scratch.path)
    cache = try ResourceCache(
      sources: [source], settings: CacheSettings(disk: disk),
      disk: inFiles ? .folder(folder) : .sqliteFile(in: folder), loader: server,
      clock: LoadClock(clock, wall: time.reader()))
    regions = try OfflineRegions(cache: cache, folder: folder, limits: limits, policy: policy)
  }

  static func source(
    allowsBulk: Bool = true, scheme: String = "https", patience: Duration = .seconds(86_400)
  ) throws -> ResourceSource {
    var limits = SourceLimits()
    limits.attempts = 1
    (limits.timeout, limits.patienceWithCopy) = (.seconds(86_400), patience)
    return try ResourceSource(
      "trails", template: "\(scheme)://trails.test/{z}/{x}/{y}", freshness: .fixed(.days(7)),
      userAgent: "Tests/1 (tests.test)", limits: limits, zooms: 0...20,
      names: SourceNames(attribution: "© walkers"), allowsBulkDownload: allowsBulk)
  }

  /// Returns a rig of new objects on the same files, as after the end of the process.
  func reopened(
    _ server: RegionServer? = nil, after change: (_ index: String) throws -> Void = { _ in }
  ) async throws -> RegionRig {
    try await cache.close()
    try regions.close()
    try change(scratch.file(inFiles ? "index.sqlite" : "cache.sqlite"))
    return try RegionRig(
      scratch: scratch, time: time, server ?? self.server, disk: limitsOfDisk, inFiles: inFiles)
  }

  /// Returns a rig of new objects on a copy of the files as they are now, as after a kill of the process.
  func killed() throws -> RegionRig {
    let copy = try TemporaryFolder()
    for name in scratch.names(in: scratch.path) {
      try FileManager.default.copyItem(atPath: scratch.file(name), toPath: copy.file(name))
    }
    return try RegionRig(scratch: copy, time: time, server, disk: limitsOfDisk, inFiles: inFiles)
  }

  /// Returns another process on the same files.
  func beside() throws -> RegionRig { try RegionRig(scratch: scratch, time: time, server) }

  static let oslo = GeoBox(west: 10.6, south: 59.85, east: 10.9, north: 60)

  func plan(_ name: String = "Oslo", box: GeoBox = oslo, zooms: ClosedRange<Int> = 0...12) throws
    -> OfflineRegions.Plan
  {
    OfflineRegions.Plan(
      name: name, source: "trails", area: .box(box),
      zooms: try ZoomRange(zooms.lowerBound, zooms.upperBound))
  }

  func pass(_ duration: Duration) { time.advance(by: duration.wholeMilliseconds) }

  func paths(_ plan: OfflineRegions.Plan) throws -> Set<String> { Set(try plan.tiles().map(\.description)) }
}

extension RegionRig {
  /// Returns the content of each tile of a region in a version.
  static func all(_ version: Int, _ region: Region) throws -> [String?] {
    try region.plan.tiles().map { "\($0) v\(version)" }
  }

  /// Gives the tiles of a region a newer version on the server.
  func raise(_ region: Region, to version: Int) throws {
    let paths = try paths(region.plan)
    server.change { state in for path in paths { state.versions[path] = version } }
  }

  /// Returns a region that was loaded a day ago.
  func loaded(_ name: String = "Oslo") async throws -> Region {
    let region = try await regions.create(plan(name))
    _ = try await regions.resume(region.id)
    server.forget()
    pass(.days(1))
    return region
  }

  /// Returns the stored content of each tile of a region.
  func bodies(_ region: Region) async throws -> [String?] {
    var found: [String?] = []
    for tile in try region.plan.tiles() {
      let stored = try await cache.value(source.key(tile), policy: .local)
      found.append(stored.bytes.map { RegionServer.text($0) })
    }
    return found
  }
}
