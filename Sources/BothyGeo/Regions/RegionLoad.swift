import BothyCache
import Foundation

/// The outcome of loading one tile of a region.
enum RegionLoad: Sendable {
  case loaded(bytes: Int)
  /// The server confirmed the stored tile.
  case confirmed
  /// The stored tile never changes and so was not requested.
  case kept
  case absent
  /// The server reports that the tile no longer exists. The stored tile stays.
  case gone(String)
  /// This tile isn't available now. Others may be.
  case failed(String)
  /// Other content came in place of the tile, for example on a network that requires a sign-in. The stored tile stays.
  case misled(BothyError)
  /// The network isn't available, or the server doesn't respond.
  case unreachable(BothyError)
  /// The cache can't load or store any tile.
  case stopped(BothyError)

  /// The maximum time that one tile waits for a server that sent `Retry-After`.
  static let patience = Duration.seconds(120)

  /// Requests a tile, with a conditional request if it is stored. The stored tile stays until a newer version has
  /// arrived.
  static func of(_ key: ResourceKey, from cache: ResourceCache, _ watch: ReplacementWatch) async -> RegionLoad
  {
    var attempts = 3
    var options = ReadOptions(policy: .remote, priority: .background)
    options.admits = { watch.admits($0) }
    options.letsGo = watch.removesGone
    while true {
      do {
        var resource = try await cache.value(key, options)
        if resource.origin == .memory, try await cache.stored([key]).first == .some(nil) {
          // The entry was lost from the disk and is only in memory, where it doesn't last.
          var whole = ReadOptions.reload
          whole.priority = .background
          resource = try await cache.value(key, whole)
        }
        return outcome(resource)
      } catch {
        let problem = failure(error, key)
        // A server with `Retry-After` will respond. One that doesn't respond is waited for once.
        attempts -= problem.status == nil ? 2 : 1
        guard let wait = problem.retryAfter, wait <= patience, attempts > 0 else { return outcome(problem) }
        do { try await cache.wait(wait) } catch { return outcome(problem) }
      }
    }
  }

  private static func failure(_ error: any Error, _ key: ResourceKey) -> BothyError {
    (error as? BothyError).flatMap { $0.isOfDownloads ? $0 : nil }
      ?? BothyError(.storage, "The cache's disk failed while it looked for \(key): \(error)")
  }

  private static func outcome(_ resource: CachedResource) -> RegionLoad {
    if case .notStored(let obstacle) = resource.storage {
      let key = resource.key
      switch obstacle.kind {
      case .forbidden:
        return .failed("\(key) came, but its server does not allow it to be kept.")
      case .undecodable: return .failed("\(key) came, but is not what its reader takes.")
      case .tooLarge: return .failed("\(key) is larger than the cache takes.")
      case .removed: return .failed("\(key) was removed while it came.")
      case .diskFull:
        return .stopped(BothyError(.storage, "The disk is full. Make room, then resume."))
      case .noDisk:
        return .stopped(BothyError(.storage, "The cache has no disk. Open it with one to keep regions."))
      case .failed(let reason):
        return .stopped(BothyError(.storage, "The cache's disk failed: \(reason)"))
      }
    }
    if resource.isAbsent { return .absent }
    switch resource.origin {
    case .network: return .loaded(bytes: resource.bytes?.count ?? 0)
    case .confirmed: return .confirmed
    case .memory, .disk, .bundled: return .kept
    }
  }

  private static func outcome(_ error: BothyError) -> RegionLoad {
    switch error.code {
    case .unreachable, .timedOut, .offline: .unreachable(error)
    case .unexpectedContent: .misled(error)
    case .absent: .gone(error.message)
    case .closed, .storage, .unknownSource, .cancelled: .stopped(error)
    default: .failed(error.message)
    }
  }
}
