import BothyCache
import BothyStore
import Dispatch
import Foundation
import HTTPTypes

/// Loads one tile from the cache or the network into the database of places. Decoding and writing run on a separate
/// thread.
struct TileLoading: Sendable {
  let places: PlaceStore
  let cache: ResourceCache
  let source: ResourceSource
  private let lane = DispatchQueue(label: "bothy.places")

  /// The way to load a tile.
  struct Way: Sendable {
    var priority: LoadPriority
    /// True if an old version is available.
    var isHeld = false
    /// True if the load waits for a server that is considered down.
    var waitsForHost = false
    var hasNetwork = true

    init(priority: LoadPriority) { self.priority = priority }

    var options: ReadOptions {
      var options = ReadOptions(policy: isHeld ? .remoteElseLocal : .localElseRemote, priority: priority)
      if !hasNetwork { options.policy = .local }
      options.waitsForHost = waitsForHost
      return options
    }
  }

  /// Runs blocking work in order, outside the threads of tasks.
  func run<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      lane.async { continuation.resume(with: Swift.Result(catching: work)) }
    }
  }

  /// Loads a tile: with a conditional request if an old version is available, otherwise from the cache first. On
  /// failure the old version stays.
  func load(_ tile: Tile, _ way: Way) async -> TileOutcome {
    let generation = places.generation
    do {
      let key = try source.key(tile)
      if way.isHeld, !way.hasNetwork { throw Self.offline(tile) }
      var options = way.options
      let categories = places.categories
      // Content that isn't a tile never replaces one in the cache, so that its validator is available for the next
      // attempt.
      options.admits = {
        $0.isNegative || (try? GeoJSONTile(decoding: $0.body, categories: categories)) != nil
      }
      let resource = try await cache.value(key, options)
      if case .stale(.refreshFailed(let error)) = resource.freshness, way.isHeld {
        return .failed(Self.named(error, tile))
      }
      if case .stale(.noNetwork) = resource.freshness, way.isHeld { throw Self.offline(tile) }
      guard let bytes = resource.bytes else {
        try await run {
          if generation == places.generation { try places.remove([tile]) }
        }
        return .absent
      }
      return try await take(version(tile, bytes, resource), key, generation)
    } catch { return .failed((error as? BothyError).map { Self.named($0, tile) } ?? error) }
  }

  /// Returns the error for a response that isn't a tile of places.
  private static func named(_ error: BothyError, _ tile: Tile) -> any Error {
    guard error.code == .unexpectedContent else { return error }
    return BothyError(
      .notATile, "The answer for \(tile) isn't a tile of places; the old version stays. \(error.message)",
      underlying: error)
  }

  private static func offline(_ tile: Tile) -> BothyError {
    BothyError(.offline, "The device is offline; the old version of \(tile) stays.")
  }

  /// Checks with a conditional request if the server has a tile.
  func check(_ tile: Tile) async throws {
    let key = try source.key(tile)
    var options = ReadOptions(policy: .remote, priority: .visible)
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

  private func version(_ tile: Tile, _ bytes: Data, _ resource: CachedResource) -> PlaceTile {
    PlaceTile(
      tile, payload: bytes, receivedAt: resource.metadata.receivedAt,
      validatedAt: resource.metadata.validatedAt, entityTag: resource.fields[.eTag],
      lastModified: resource.fields[.lastModified])
  }

  private func take(_ version: PlaceTile, _ key: ResourceKey, _ generation: Int) async throws -> TileOutcome {
    do {
      let change = try await run { try places.replace(version, generation: generation) }
      switch change {
      case .added: return .loaded(isNew: true)
      case .updated: return .loaded(isNew: false)
      case .unchanged, .outdated: return .unchanged
      case .discarded:
        return .failed(
          BothyError(.cancelled, "The places were cleared while \(version.tile) was on its way."))
      }
    } catch let error as BothyError where error.code == .notATile {
      // The content was stored before it was known to be no tile. It is removed; the old version of the tile stays.
      try await cache.remove(key)
      throw error
    }
  }
}
