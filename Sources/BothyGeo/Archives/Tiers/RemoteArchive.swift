import BothyCache
import Foundation
import HTTPTypes
import Synchronization

/// A PMTiles archive on a server as all of a source.
///
/// Each tile is a response of its own for the cache, with a validator that is made of the archive's and of its place. So
/// it is stored, fresh, confirmed and pinned like any other. Directories are read once for each version of the archive.
///
/// Requests carry the archive's strong validator. If the archive is replaced, its directories are read anew, and nothing
/// of the old version is used with the new one.
final class RemoteArchive: SourceContainer {
  /// One version of the archive, with the reads of it.
  private final class Session: Sendable {
    let version: PMTilesVersion
    let ranges = ArchiveRanges()
    let fields: Mutex<HTTPFields>
    /// The time at which the server last answered for this version, in milliseconds since 1970.
    let confirmedAt: Mutex<Int64>
    private let openedAt: Int64

    init(_ version: PMTilesVersion, _ fields: HTTPFields, at time: Int64) {
      self.version = version
      self.fields = Mutex(fields)
      confirmedAt = Mutex(time)
      openedAt = time
    }

    /// True if damage may mean that the archive was replaced. Without a validator, nothing else shows that.
    func mayBeOutdated(by error: BothyError, at now: Int64) -> Bool {
      error.code == .damagedArchive && version.validator == nil
        && !(0..<RemoteArchive.confirmation).contains(now - openedAt)
    }
  }

  private struct State {
    var session: Session?
    /// The ids of tiles that are about to be read.
    var expected: Set<UInt64> = []
    /// The search for the places of the expected tiles.
    var planning: Task<Void, Never>?
  }

  /// The time, in milliseconds, for which an answer about the archive is valid for tiles that need no bytes of it.
  private static let confirmation: Int64 = 60_000

  private let state = Mutex(State())
  private let openings = RequestCoalescer<Bool, Result<Session, any Error>>()

  var reader: (any DiskCache.Reader)? { nil }

  func isCurrent(_ metadata: EntryMetadata) -> Bool { true }

  func expect(_ keys: [ResourceKey]) {
    let ids = Set(keys.compactMap { Tile($0)?.hilbertID })
    state.withLock { ($0.expected, $0.planning) = (ids, nil) }
  }

  func fetch(
    _ key: ResourceKey, _ order: FetchOrder, by fetcher: Fetcher, for inFlight: InFlightRequest
  ) async throws(LoadFailure) -> FetchedResponse {
    let tile = Tile(key)
    guard tile != nil || key.path == TileArchiveInfo.documentPath else {
      throw LoadFailure(.invalidRequest, "The source is an archive of tiles, and has nothing else.")
    }
    var order = order
    order.urls = order.urls.map(Self.archive)
    let call = Call(tile: tile, order: order, fetcher: fetcher, inFlight: inFlight)
    do {
      do { return try await answer(call) } catch let error as BothyError where error.code == .changedArchive {
        // The archive was replaced. If that happens again at once, a later read may find it at rest.
        return try await answer(call)
      }
    } catch let failure as LoadFailure {
      throw failure
    } catch let strange as StrangeAnswer {
      return try Self.passed(strange.answer)
    } catch let error as BothyError {
      throw LoadFailure(error.code == .changedArchive ? .unreachable : .invalidRequest, error.message)
    } catch {
      throw LoadFailure.of(error)
    }
  }

  /// Returns the address of the archive, with secret query items, from that of a tile, which is in its fragment.
  static func archive(_ url: String) -> String {
    guard let hash = url.firstIndex(of: "#") else { return url }
    let base = url[..<hash]
    guard let query = url[hash...].firstIndex(where: { $0 == "?" || $0 == "&" }) else { return String(base) }
    return base + (base.contains("?") ? "&" : "?") + url[url.index(after: query)...]
  }

  /// Returns an error of the server in place of a part as the response for a tile.
  ///
  /// Any other response is a failure. That the archive is gone doesn't mean that a tile is. Content in place of a part,
  /// as of a network that wants a sign-in first, would be taken for a tile.
  private static func passed(_ answer: FetchedResponse) throws(LoadFailure) -> FetchedResponse {
    let url = answer.url.prefix { $0 != "?" }
    switch AnswerKind(status: answer.status) {
    case .body:
      throw LoadFailure(
        .unexpectedType(answer.fields[.contentType] ?? ""),
        "Other content came in place of a part of \(url), as on a network that wants a sign-in first.")
    case .negative, .notModified:
      throw LoadFailure(.invalidRequest, "\(url) has no archive: the server answered \(answer.status).")
    default: return answer
    }
  }

  /// One read, with all that requests for it need.
  private struct Call: Sendable {
    /// The tile, or `nil` for the TileJSON document.
    var tile: Tile?
    var order: FetchOrder
    var fetcher: Fetcher
    var inFlight: InFlightRequest

    var now: Int64 { fetcher.clock.wall() }

    func file(_ notify: @escaping @Sendable (HTTPFields) -> Void) -> HTTPRangeSource {
      HTTPRangeSource(order, fetcher, for: inFlight, notify: notify)
    }
  }

  private func answer(_ call: Call) async throws -> FetchedResponse {
    let session = try await session(call)
    do { return try await answer(call, from: session) } catch let error as BothyError
      where error.code == .changedArchive || session.mayBeOutdated(by: error, at: call.now)
    {
      state.withLock { state in
        if state.session === session { (state.session, state.planning) = (nil, nil) }
      }
      throw BothyError(.changedArchive, error.message)
    }
  }

  private func answer(_ call: Call, from session: Session) async throws -> FetchedResponse {
    let requestedAt = call.now
    let version = session.version
    let file = call.file { fields in
      session.fields.withLock { $0 = fields }
      session.confirmedAt.withLock { $0 = call.now }
    }
    let source = SharedRangeSource(ranges: session.ranges, file: file, priority: call.inFlight.priority)
    guard let tile = call.tile else {
      // The header is a part that no tile has.
      let tag = Self.tag(version.validator, PMTilesVersion.headRange)
      try await confirm(session, source, at: requestedAt)
      let isHeld = tag != nil && call.order.fields[.ifNoneMatch] == tag
      let entry = isHeld ? TileEntry.nothing : TileEntry(describing: version.info)
      return response(isHeld ? 304 : 200, entry, tag, session, call, requestedAt)
    }
    await plan(for: tile, session, source)
    let isInside = version.header.zooms.contains(tile.zoom)
    guard isInside, let range = try await version.locate(tile.hilbertID, in: source) else {
      try await confirm(session, source, at: requestedAt)
      return response(
        404, TileEntry.nothing, Self.tag(version.validator, 0..<0), session, call, requestedAt)
    }
    let tag = Self.tag(version.validator, range)
    if let tag, call.order.fields[.ifNoneMatch] == tag {
      try await confirm(session, source, at: requestedAt)
      return response(304, TileEntry.nothing, tag, session, call, requestedAt)
    }
    let data = try await source.bytes(range, expecting: version.validator).data
    let entry = try TileEntry(data, of: tile, version.info)
    return response(200, entry, tag, session, call, requestedAt)
  }

  // MARK: versions

  /// Returns the current version. All calls share the requests that open it.
  private func session(_ call: Call) async throws -> Session {
    if let session = state.withLock({ $0.session }) { return session }
    return try await openings.result(for: true, priority: call.inFlight.priority) { [self] inFlight in
      let heard = Mutex(HTTPFields())
      var call = call
      call.inFlight = inFlight
      let file = call.file { fields in heard.withLock { $0 = fields } }
      let version = try await PMTilesVersion.open(StrictRangeSource(file: file))
      let session = Session(version, heard.withLock { $0 }, at: call.now)
      state.withLock { $0.session = session }
      return session
    }
  }

  /// Makes sure that the server still has this version, with a request of one byte unless it has just said so.
  private func confirm(_ session: Session, _ source: SharedRangeSource, at now: Int64) async throws {
    let last = session.confirmedAt.withLock { $0 }
    guard !(0..<Self.confirmation).contains(now - last) else { return }
    _ = try await source.bytes(0..<1, expecting: session.version.validator)
  }

  /// Searches the places of all expected tiles with the first of them, so that near ones are read together.
  private func plan(for tile: Tile, _ session: Session, _ source: SharedRangeSource) async {
    let id = tile.hilbertID
    let planning = state.withLock { state -> Task<Void, Never>? in
      guard state.expected.contains(id), state.session === session else { return nil }
      if let planning = state.planning { return planning }
      let ids = state.expected.sorted()
      let task = Task {
        // Without the plan each tile is searched and read alone, and reports the error.
        guard let places = try? await session.version.locate(ids, in: source) else { return }
        session.ranges.expect(places.values)
      }
      state.planning = task
      return task
    }
    await planning?.value
  }

  // MARK: responses

  private static func tag(_ validator: String?, _ range: Range<UInt64>) -> String? {
    guard let validator else { return nil }
    let hash = Data(validator.utf8).withUnsafeBytes { XXH64.hash($0) }
    return "\"\(String(hash, radix: 16))-\(range.lowerBound)-\(range.size)\""
  }

  /// Returns the version of the archive that an entity tag of its tiles names.
  static func version(of tag: String) -> String { String(tag.prefix { $0 != "-" }) }

  private static let kept: [HTTPField.Name] = [.cacheControl, .expires, .date, .age, .lastModified]

  private func response(
    _ status: Int, _ entry: TileEntry, _ tag: String?, _ session: Session, _ call: Call, _ requestedAt: Int64
  ) -> FetchedResponse {
    let heard = session.fields.withLock { $0 }
    var fields = entry.fields
    for name in Self.kept { fields[name] = heard[name] }
    fields[.eTag] = tag
    var answer = FetchedResponse(
      status: status, fields: fields, body: entry.body, url: call.order.urls.first ?? "",
      requestedAt: requestedAt, receivedAt: call.now)
    // The store packs the tile again.
    answer.wasCoded = entry.wasPacked
    return answer
  }
}

extension TileEntry {
  /// The content of a response without a body.
  fileprivate static let nothing = TileEntry(body: Data(), fields: [:])

  private init(body: Data, fields: HTTPFields) {
    self.body = body
    self.fields = fields
  }
}

/// A remote file whose reads throw the responses and failures of the network as they are.
private struct StrictRangeSource: ByteRangeSource {
  let file: HTTPRangeSource

  func bytes(
    _ range: Range<UInt64>, expecting validator: String?
  ) async throws -> (data: Data, validator: String?) {
    try await file.part(range, expecting: validator)
  }
}
