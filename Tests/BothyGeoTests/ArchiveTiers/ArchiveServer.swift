import BothyCache
import BothyGeo
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Synchronization

/// A server of one file, by ranges and with validators.
final class ArchiveServer: ResourceLoader {
  struct State {
    var data: Data
    /// The entity tag, or `nil` for a server without any.
    var tag: String?
    var fields: HTTPFields = [:]
    /// True if a range beyond the end has a response without any fields.
    var isCurt = false
    /// The ranges that were requested.
    var requests: [Range<Int>] = []
    var bytes = 0
    /// The status and body of every response in place of the file.
    var page: (status: Int, body: String)?
    /// The number of requests before the server stops responding, or `nil` for all.
    var answers: Int?
    /// The files that replace this one, each before the request of this number.
    var versions: [(before: Int, data: Data, tag: String?)] = []
    var answered = 0
    var agents: Set<String?> = []
  }

  private let state: Mutex<State>

  init(_ data: Data, tag: String? = "\"1\"") { state = Mutex(State(data: data, tag: tag)) }

  func change(_ body: (inout sending State) -> Void) { state.withLock { body(&$0) } }
  var requests: [Range<Int>] { state.withLock { $0.requests } }
  var bytes: Int { state.withLock { $0.bytes } }
  var agents: Set<String?> { state.withLock { $0.agents } }

  func forget() { change { ($0.requests, $0.bytes) = ([], 0) } }

  func replace(_ data: Data, tag: String?) { change { ($0.data, $0.tag) = (data, tag) } }

  func load(_ request: ResourceRequest) async throws(LoadFailure) -> ResourceResponse {
    let answer = state.withLock { state in Self.answer(request, &state) }
    guard let (status, fields, body) = answer else { throw LoadFailure(.unreachable, "Nobody answers.") }
    return ResourceResponse(
      status: status, fields: fields,
      body: AsyncThrowingStream { stream in
        if !body.isEmpty { stream.yield(body) }
        stream.finish()
      })
  }

  private static func answer(
    _ request: ResourceRequest, _ state: inout State
  ) -> (Int, HTTPFields, Data)? {
    while let next = state.versions.first, next.before <= state.answered {
      (state.data, state.tag) = (next.data, next.tag)
      state.versions.removeFirst()
    }
    if let left = state.answers {
      guard left > 0 else { return nil }
      state.answers = left - 1
    }
    state.answered += 1
    state.agents.insert(request.fields[.userAgent])
    if let page = state.page {
      return (page.status, [.contentType: "text/html"], Data(page.body.utf8))
    }
    var fields = state.fields
    fields[.eTag] = state.tag
    if let wanted = request.fields[.ifMatch], wanted != state.tag { return (412, fields, Data()) }
    let numbers = (request.fields[.range] ?? "").dropFirst(6).split(separator: "-").compactMap { Int($0) }
    guard numbers.count == 2 else { return (200, fields, state.data) }
    state.requests.append(numbers[0]..<numbers[1] + 1)
    guard numbers[0] < state.data.count else {
      return (416, state.isCurt ? [:] : fields, Data())
    }
    let end = min(numbers[1], state.data.count - 1)
    fields[.contentRange] = "bytes \(numbers[0])-\(end)/\(state.data.count)"
    let start = state.data.startIndex
    let body = state.data[start + numbers[0]...start + end]
    state.bytes += body.count
    return (206, fields, Data(body))
  }
}

/// Archives of vector tiles whose one layer has the name of the tile and of the archive's version.
enum MadeArchive {
  static func text(_ tile: Tile, _ version: String = "1") -> String { "\(tile) v\(version)" }

  /// A source of tiles by address, for the tiles of an archive.
  static func source(_ id: SourceID, of host: String = "maps.test") throws -> ResourceSource {
    try ResourceSource(id, template: "https://\(host)/{z}/{x}/{y}.pbf")
  }

  static func tiles(_ ids: some Sequence<UInt64>) throws -> [Tile] { try ids.map { try Tile(hilbertID: $0) } }

  /// Writes an archive with these tiles.
  static func write(
    _ tiles: [Tile], to path: String, as container: TileArchiveInfo.Container = .pmtiles,
    version: String = "1"
  ) throws {
    let writer = try TileArchives.writer(to: path, as: container)
    for tile in tiles { try writer.add(tile, Gzip.pack(RegionServer.tile(text(tile, version)))) }
    try writer.finish(
      TileArchiveInfo(container: container, name: "Made", attribution: "© walkers", tileFormat: "pbf"))
  }

  static func data(_ tiles: [Tile], version: String = "1") throws -> Data {
    let scratch = try TemporaryFolder()
    try write(tiles, to: scratch.file("a"), version: version)
    return try Data(contentsOf: scratch.url("a"))
  }
}

/// A cache with one source, on disk and with a clock that the test controls.
struct ArchiveRig {
  let scratch: TemporaryFolder
  let time = VirtualTime()
  let source: ResourceSource
  let cache: ResourceCache

  /// - Parameter archive: the address or path of the source's archive.
  init(
    _ archive: String = "https://maps.test/hills.pmtiles", loader: (any ResourceLoader)?,
    freshness: FreshnessRule = .fixed(.days(7)), in scratch: TemporaryFolder? = nil,
    secrets: [String: String] = [:]
  ) throws {
    self.scratch = try scratch ?? TemporaryFolder()
    var limits = SourceLimits()
    limits.attempts = 1
    (limits.timeout, limits.patienceWithCopy) = (.seconds(86_400), .seconds(86_400))
    source = try ResourceSource(
      "hills", archive: archive, freshness: freshness, userAgent: "Tests/1 (tests.test)", limits: limits,
      secrets: secrets, allowsBulkDownload: true)
    cache = try ResourceCache(
      sources: [source], disk: .sqliteFile(in: self.scratch.url("cache")), loader: loader,
      clock: LoadClock(HastyClock(), wall: time.reader()))
  }

  /// The text of a tile, or `nil` for an absent one, and the place where it was found.
  struct Reading: Equatable {
    var text: String?
    var origin: CachedResource.Origin

    init(_ text: String?, _ origin: CachedResource.Origin) {
      self.text = text
      self.origin = origin
    }
  }

  func read(_ tile: Tile, policy: ReadPolicy = .localElseRemote) async throws -> Reading {
    let found = try await cache.value(source.key(tile), policy: policy)
    return Reading(found.bytes.map { RegionServer.text($0) }, found.origin)
  }
}
