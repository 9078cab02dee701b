import BothyCache
import BothyStore
import Dispatch
import Foundation
import HTTPTypes
import Synchronization

/// Loads one tile from the cache or the network into the database of places. Decoding and writing run on a separate
/// thread.
struct TileLoading: Sendable {
  let places: PlaceStore
  let cache: ResourceCache
  let source: ResourceSource
  private let lane = DispatchQueue(label: "bothy.places")

  /// The way to load a tile.
  struct Way: Sendable {
    var priority: ResourceCache.Priority
    /// True if an old version is available.
    var isHeld = false
    /// True if the stored bytes are to be read again, because the features were derived with other categories or not
    /// yet.
    var isOtherwise = false
    /// True if the load waits for a server that is considered down.
    var waitsForHost = false
    var hasNetwork = true

    init(priority: ResourceCache.Priority) { self.priority = priority }

    var options: ResourceCache.Options {
      var options = ResourceCache.Options(
        policy: isHeld ? .remoteElseLocal : .localElseRemote, priority: priority)
      if !hasNetwork { options.policy = .local }
      options.waitsForHost = waitsForHost
      // Nobody waits for the newer version, and the map shows the old one.
      options.waitsForEnd = isHeld
      return options
    }
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
  func load(_ tile: Tile, _ way: Way) async -> TileOutcome {
    let generation = places.generation
    let reason = Mutex<BothyError?>(nil)
    do {
      let key = try source.key(tile)
      if way.isHeld, !way.hasNetwork { throw Self.offline(tile) }
      var options = way.options
      if way.isHeld { options.held = try await metadata(of: tile) }
      let categories = places.categories
      // Content that isn't a tile never replaces one in the cache, so that its validator is available for the next
      // attempt.
      let decoder = places.decoder
      options.admits = { candidate in
        do {
          if !candidate.isNegative {
            _ = try decoder.features(in: candidate.body, of: tile, categories: categories)
          }
          return true
        } catch {
          reason.withLock { $0 = error as? BothyError }
          return false
        }
      }
      let resource = try await read(key, options, storedFirst: way.isOtherwise)
      if case .stale(.refreshFailed(let error)) = resource.freshness, way.isHeld {
        return .failed(Self.named(error, tile, reason.withLock { $0 }))
      }
      if case .stale(.noNetwork) = resource.freshness, way.isHeld { throw Self.offline(tile) }
      if resource.metadata.status == 304 { return try await renew(tile, resource, generation) }
      guard let bytes = resource.bytes else {
        try await run {
          if generation == places.generation { try places.remove([tile]) }
        }
        return .absent
      }
      var version = version(tile, bytes, resource)
      // The cache may have refused these bytes and kept earlier ones. If it can't say, the places keep them.
      let held = try? await cache.stored([key]).first.flatMap { $0 }
      version.isCached = held?.receivedAt == version.receivedAt
      return try await take(version, key, generation)
    } catch {
      let reason = reason.withLock { $0 }
      return .failed((error as? BothyError).map { Self.named($0, tile, reason) } ?? error)
    }
  }

  /// Returns the metadata of the bytes that a tile's places were decoded from. The cache may have lost them.
  private func metadata(of tile: Tile) async throws -> EntryMetadata? {
    guard let held = try await run({ try places.tile(tile) }) else { return nil }
    var fields = HTTPFields()
    fields[.eTag] = held.entityTag
    fields[.lastModified] = held.lastModified
    return EntryMetadata(fields: fields, receivedAt: held.receivedAt)
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

  /// Returns the error for a response that isn't a tile of places, with the decoder's reason if it gave one.
  private static func named(_ error: BothyError, _ tile: Tile, _ reason: BothyError?) -> any Error {
    guard error.code == .unexpectedContent else { return error }
    return BothyError(
      .notATile,
      "The answer for \(tile) isn't a tile of places; the old version stays. \((reason ?? error).message)",
      underlying: error)
  }

  private static func offline(_ tile: Tile) -> BothyError {
    BothyError(.offline, "The device is offline; the old version of \(tile) stays.")
  }

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
