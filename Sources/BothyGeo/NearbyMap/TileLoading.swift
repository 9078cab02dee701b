package import BothyCache
import BothyStore
import Dispatch
import Foundation
import HTTPTypes
import Synchronization

/// Loads one tile from the cache or the network into the database of places. Decoding and writing run on a separate
/// thread.
///
/// Places are replaced by those of a newer tile alone. As with the tiles of a region, a server that says that a tile is
/// gone takes none away, and neither does a network that answers for several tiles with one content. Tiles without places
/// take some away only if another tile shows that the server itself sent them, or if the server has confirmed no tile with
/// places for 30 days.
package struct TileLoading: Sendable {
  let places: PlaceStore
  let cache: ResourceCache
  let source: ResourceSource
  private let gone = GoneTiles()
  private let lane = DispatchQueue(label: "bothy.places")

  package init(places: PlaceStore, cache: ResourceCache, source: ResourceSource) {
    self.places = places
    self.cache = cache
    self.source = source
  }

  /// The way to load a tile.
  package struct Way: Sendable {
    var priority: ResourceCache.Priority
    /// True if an old version is available.
    package var isHeld = false
    /// True if the stored bytes are to be read again, because the features were derived with other categories or not
    /// yet.
    var isOtherwise = false
    /// True if the load waits for a server that is considered down, and requests tiles that are gone again.
    package var waitsForHost = false
    /// True if the load waits for the end of the request although the cache has an older version.
    package var waitsForEnd = false
    /// True if the places keep the bytes themselves, although the cache has them.
    package var keepsBytes = false
    /// True if the places of a tile go when the server says that it is gone.
    package var removesGone = false
    var hasNetwork = true
    /// Compares the new versions of stored tiles.
    var watch: ReplacementWatch

    package init(priority: ResourceCache.Priority, _ watch: ReplacementWatch) {
      (self.priority, self.watch) = (priority, watch)
    }

    var options: ResourceCache.Options {
      var options = ResourceCache.Options(
        policy: isHeld ? .remoteElseLocal : .localElseRemote, priority: priority)
      if !hasNetwork { options.policy = .local }
      options.waitsForHost = waitsForHost
      // The map shows the old version, and no reader waits for the newer one.
      options.waitsForEnd = isHeld || waitsForEnd
      return options
    }
  }

  /// Returns a watch over the loads of tiles that are stored. Each of them must be loaded with it.
  package func watch(over tiles: Set<Tile>, after earlier: ReplacementWatch? = nil) -> ReplacementWatch {
    ReplacementWatch(over: tiles, after: earlier, NetworkProbe(cache: cache, style: nil))
  }

  /// Runs blocking work in order, outside the threads of tasks.
  func run<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      lane.async { continuation.resume(with: Swift.Result(catching: work)) }
    }
  }

  /// Returns the available tiles, with the time of their last validation.
  func held(_ tiles: some Sequence<Tile> & Sendable) async throws -> [Tile: Int64] {
    let places = places
    return try await run { try places.held(tiles) }
  }

  /// Returns the tiles that have bytes in the cache and no features yet.
  func underived(_ tiles: [Tile]) async throws -> Set<Tile> {
    let places = places
    return try await run { try places.underived(tiles) }
  }

  /// Loads a tile: with a conditional request if an old version is available, otherwise from the cache first. On
  /// failure the old version stays. A version that the server confirms stays too, also if the cache has lost its bytes.
  package func load(_ tile: Tile, _ way: Way) async -> TileOutcome {
    let generation = places.generation
    let reason = Mutex<BothyError?>(nil)
    var isHere = way.isHeld
    defer { way.watch.ended(tile) }
    do {
      let key = try source.key(tile)
      let (held, digest) = try await known(tile, namesBytes: way.isHeld)
      isHere = held != nil
      if way.isHeld, !way.hasNetwork { throw Self.offline }
      if way.isHeld, !way.waitsForHost, let answer = gone.answer(for: tile, at: cache.now) { throw answer }
      var options = way.options
      if !way.removesGone { options.held = held }
      // Content that isn't a tile never replaces one in the cache, so that its validator is available for the next
      // attempt.
      if digest != nil { options.judge = ObjectIdentifier(way.watch) }
      options.admits = { candidate in
        do throws(BothyError) {
          if candidate.isNegative { return true }
          let features = try check(candidate.body, candidate.fields, of: tile)
          try await compare(candidate.body, features, over: digest, of: tile, way.watch)
          return true
        } catch {
          reason.withLock { $0 = error }
          // The first version of a tile whose schema isn't known is kept for a file of places that has the schema.
          return held == nil && error.code != .notATile
        }
      }
      var resource = try await read(key, options, storedFirst: way.isOtherwise)
      if resource.isAbsent, case .stale = resource.freshness, way.hasNetwork, !options.waitsForEnd {
        // An old absence has nothing to show meanwhile.
        (options.policy, options.waitsForEnd) = (.remoteElseLocal, true)
        resource = try await cache.value(key, options)
      }
      if case .stale(.refreshFailed(let error)) = resource.freshness, way.isHeld { throw error }
      if case .stale(.noNetwork) = resource.freshness, way.isHeld { throw Self.offline }
      if resource.metadata.status == 304 {
        way.watch.confirmed()
        return try await renew(tile, resource, generation)
      }
      guard let bytes = resource.bytes else { return try await absent(tile, resource, way, generation) }
      try TileFormat.check(coding: resource.fields[.contentEncoding])
      let isOther = digest.map { PlaceTileRow.digest(bytes) != $0 } ?? false
      if resource.origin == .confirmed, !isOther { way.watch.confirmed() }
      // Another reader may have stored this content. What isn't a tile is refused below.
      if isOther, resource.origin != .network, source.container == nil,
        let features = try? check(bytes, resource.fields, of: tile)
      {
        try await compare(bytes, features, over: digest, of: tile, way.watch)
      }
      var version = version(tile, bytes, resource)
      // The cache may have refused these bytes and kept earlier ones. If it can't say, the places keep them.
      if !way.keepsBytes {
        let stored = try? await cache.stored([key]).first.flatMap { $0 }
        version.isCached = stored?.receivedAt == version.receivedAt
      }
      return try await take(version, key, generation)
    } catch {
      return .failed(failure(error, tile, reason.withLock { $0 }, isHere: isHere))
    }
  }

  /// Returns the metadata and the digest of the bytes that a tile's places were decoded from, or `nil` without places.
  /// The cache may have lost the bytes.
  ///
  /// - Parameter namesBytes: true if the bytes needn't come again, so that their validators may be sent.
  private func known(
    _ tile: Tile, namesBytes: Bool
  ) async throws -> (metadata: EntryMetadata?, digest: StoredDigest?) {
    let places = places
    return try await run {
      guard let held = try places.summary(of: tile) else { return (nil, nil) }
      var fields = HTTPFields()
      if namesBytes { (fields[.eTag], fields[.lastModified]) = (held.entityTag, held.lastModified) }
      return (EntryMetadata(fields: fields, receivedAt: held.receivedAt), held.digest)
    }
  }

  /// Returns the features of a response. Throws `BothyError` if it isn't a tile that places are read from.
  private func check(
    _ payload: Data, _ fields: HTTPFields, of tile: Tile
  ) throws(BothyError) -> [TileFeature] {
    try TileFormat.check(coding: fields[.contentEncoding])
    return try places.decoder.features(in: payload, of: tile, categories: places.categories)
  }

  /// Compares other content of a stored tile with that of the other tiles of its group, which it waits for.
  ///
  /// Throws `BothyError` `.signInRequired` if several tiles have it. Content that takes all places of a tile away needs a
  /// response of the server for another stored tile. Several tiles may have that, as those without places are equal.
  private func compare(
    _ content: Data, _ features: [TileFeature], over digest: StoredDigest?, of tile: Tile,
    _ watch: ReplacementWatch
  ) async throws(BothyError) {
    guard let digest, PlaceTileRow.digest(content) != digest else { return }
    do throws(BothyError) {
      let isKnown = try await watch.compare(content, over: digest, of: tile)
      if isKnown || !features.isEmpty { return }
    } catch {
      if !features.isEmpty { throw error }
    }
    guard await mayBeEmpty(tile) else { throw Self.unknownSender }
  }

  /// The time, in milliseconds, for which places stay without any confirmation although tiles without places come in
  /// their stead: 30 days.
  private static let keptLongest: Int64 = 30 * 86_400_000

  /// Returns true if content without features may become a tile: it has none now, or the server responds for another
  /// stored tile with places. That response isn't stored.
  ///
  /// The other tile is the one that the server confirmed last, as tiles that it has emptied are confirmed no more. If it
  /// has confirmed none for long, the last ones may become empty, which would otherwise wait for each other.
  private func mayBeEmpty(_ tile: Tile) async -> Bool {
    // An archive is checked as a whole.
    if source.container != nil { return true }
    let places = places
    let rows = try? await run {
      (
        isEmpty: try !places.hasFeatures(tile), other: try places.lastConfirmed(besides: tile),
        confirmedAt: try places.tile(tile)?.validatedAt
      )
    }
    // Places that can't be read, and a tile that the source lacks, show nothing.
    guard let known = rows, let confirmedAt = known.confirmedAt else { return false }
    if known.isEmpty { return true }
    let last = max(confirmedAt, known.other?.validatedAt ?? .min)
    if last < cache.now - Self.keptLongest { return true }
    guard let other = known.other else { return false }
    guard let key = try? source.key(other.tile) else { return false }
    var fields = HTTPFields()
    (fields[.eTag], fields[.lastModified]) = (other.entityTag, other.lastModified)
    let conditions = Validation.fields(for: EntryMetadata(fields: fields, receivedAt: other.receivedAt))
    guard let answer = try? await cache.send(.get, to: key, fields: conditions) else { return false }
    if answer.status == 304 { return !conditions.isEmpty }
    let features = try? check(answer.body, answer.fields, of: other.tile)
    return AnswerKind(status: answer.status) == .body && features?.isEmpty == false
  }

  /// Returns the outcome for a tile that the server doesn't have. Throws if it has places, which stay.
  private func absent(
    _ tile: Tile, _ resource: CachedResource, _ way: Way, _ generation: Int
  ) async throws -> TileOutcome {
    let places = places
    return try await run {
      guard try way.removesGone || places.held([tile]).isEmpty else {
        throw BothyError.absent(resource.key, resource)
      }
      // Without places, the tile may still have a row, as after a repair of the file.
      if generation == places.generation { try places.remove([tile]) }
      return .absent
    }
  }

  /// Notes that the server confirmed a tile. Its places stay as they are.
  private func renew(
    _ tile: Tile, _ resource: CachedResource, _ generation: Int
  ) async throws -> TileOutcome {
    let (time, fields) = (resource.metadata.validatedAt, resource.fields)
    let isHeld = try await run {
      try generation == places.generation
        && places.renew(tile, at: time, entityTag: fields[.eTag], lastModified: fields[.lastModified])
    }
    return isHeld ? .unchanged : .failed(Self.cleared(tile))
  }

  private static func cleared(_ tile: Tile) -> BothyError {
    BothyError(.cancelled, "The places were cleared while \(tile) was on its way.")
  }

  /// - Parameter storedFirst: true to request a resource only if it isn't stored, whatever the policy is.
  private func read(
    _ key: ResourceKey, _ options: ResourceCache.Options, storedFirst: Bool
  ) async throws -> CachedResource {
    if storedFirst {
      var local = options
      local.policy = .local
      if let stored = try? await cache.value(key, local) { return stored }
    }
    return try await cache.value(key, options)
  }

  /// Returns the error to report for a tile: what came, and that the old version stays if there is one.
  private func failure(
    _ failure: any Error, _ tile: Tile, _ reason: BothyError?, isHere: Bool
  ) -> any Error {
    guard var error = failure as? BothyError else { return failure }
    if error.code == .unexpectedContent, let reason, reason.code == .signInRequired {
      error = reason
    } else if error.code == .unexpectedContent {
      error = BothyError(
        .notATile, "The answer for \(tile) isn't a tile of places. \((reason ?? error).message)",
        underlying: error)
    }
    guard isHere else { return error }
    if error.code == .absent {
      gone.note(tile, error, at: cache.now)
      error.message = "The server says that the tile \(tile) no longer exists."
    }
    error.message += " What there was of it stays."
    return error
  }

  private static let offline = BothyError(.offline, "The device is offline.")

  private static let unknownSender = BothyError(
    .signInRequired,
    "A tile without places came in place of one with places, and no other tile shows that the server sent it. A "
      + "network that wants a sign-in may have. Sign in to the network. If no network asks for that, check the "
      + "source's address."
  )

  /// Checks with a conditional request if the server has a tile.
  func check(_ tile: Tile) async throws {
    let key = try source.key(tile)
    var options = ResourceCache.Options(policy: .remote, priority: .visible)
    options.waitsForHost = false
    var resource = try await cache.value(key, options)
    if ![.network, .confirmed].contains(resource.origin) {
      // A tile that never changes wasn't requested.
      options.ignoresStored = true
      resource = try await cache.value(key, options)
    }
    if resource.isAbsent {
      throw BothyError(.refused, "The server has no tile \(tile).")
    }
  }

  /// The number of evictions after one refresh. The next refresh continues.
  private static let evictions = 16

  /// Notes that tiles are used. If all take more than `budget`, deletes those used longest ago until nine tenths of it
  /// are taken. Their bytes leave the cache too, unless they are pinned there.
  func keepBudget(_ budget: Int64, _ used: [Tile], at time: Int64) async throws {
    let places = places
    cache.noteUse(used.compactMap { try? source.key($0) })  // none for a zoom of another source
    let room = try await run {
      // A use that can't be written is lost. It only determines what goes first.
      try? places.use(used, at: time)
      return try places.room()
    }
    guard room.pages + room.cached > budget else { return }
    // The cache packs bytes, shares them, and may have let some go.
    let held = try await cache.totals()[source.id]?.bytes ?? 0
    let part = room.cached > 0 ? min(1, Double(held) / Double(room.cached)) : 0
    func taken(_ room: (pages: Int64, cached: Int64)) -> Int64 {
      room.pages + Int64(Double(room.cached) * part)
    }
    var left = taken(room)
    guard left > budget else { return }
    for _ in 0..<Self.evictions where left > budget / 10 * 9 {
      let (gone, room) = try await run { (try places.evict(at: time), try places.room()) }
      if gone.isEmpty { break }
      try await cache.removeUnpinned(gone.compactMap { try? source.key($0) })
      left = taken(room)
    }
    try await run { try places.shrink() }
  }

  private func version(_ tile: Tile, _ bytes: Data, _ resource: CachedResource) -> PlaceTile {
    PlaceTile(
      tile, payload: bytes, receivedAt: resource.metadata.receivedAt,
      validatedAt: resource.metadata.validatedAt, entityTag: resource.fields[.eTag],
      lastModified: resource.fields[.lastModified])
  }

  private func take(_ version: PlaceTile, _ key: ResourceKey, _ generation: Int) async throws -> TileOutcome {
    do {
      let change = try await run { [now = cache.now] in
        try places.replace(version, generation: generation, now: now)
      }
      switch change {
      case .added: return .loaded(isNew: true)
      case .updated: return .loaded(isNew: false)
      case .unchanged, .outdated: return .unchanged
      case .discarded: return .failed(Self.cleared(version.tile))
      }
    } catch let error as BothyError where error.code == .notATile {
      // The content was stored before it was known to be no tile. It is removed unless a holder needs it; the old
      // version of the tile stays.
      try await cache.removeUnpinned([key])
      throw error
    }
  }
}
