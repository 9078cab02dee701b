import BothyCache
import Foundation

/// Getting one tile of a region: what came of it.
enum RegionLoad: Sendable {
  case loaded(bytes: Int)
  /// The server says that what is there is still good.
  case confirmed
  /// What is there is not to be asked for, whatever happens.
  case kept
  case absent
  /// The server says that there is nothing any more; what is stored stays.
  case gone(String)
  /// This tile can't be had at present; others may.
  case failed(String)
  /// Something else came in the place of the tile, as from a network that wants a sign-in; what is stored stays.
  case misled(CacheError)
  /// There is no network, or the server does not answer.
  case unreachable(CacheError)
  /// No tile can be had, or kept.
  case stopped(CacheError)

  /// The longest that one tile waits for a server that wants to be left alone.
  static let patience = Duration.seconds(120)

  /// Asks the server, on condition where something is stored. What is stored stays until better has come.
  static func of(_ key: ResourceKey, from cache: ResourceCache, _ watch: ReplacementWatch) async -> RegionLoad
  {
    var attempts = 3
    var options = ReadOptions(mode: .revalidate, priority: .background)
    options.admits = { watch.admits($0) }
    options.letsGo = watch.removesGone
    while true {
      do {
        var resource = try await cache.value(key, options)
        if resource.origin == .memory, try await cache.stored([key]).first == .some(nil) {
          // It has gone from the disk and is only in memory: not for long.
          resource = try await cache.value(key, mode: .networkOnly, priority: .background)
        }
        return outcome(resource)
      } catch {
        let problem = failure(error, key)
        // Who asked to be left alone will answer; who does not answer is waited for once.
        attempts -= problem.status == nil ? 2 : 1
        guard let wait = problem.retryAfter, wait <= patience, attempts > 0 else { return outcome(problem) }
        do { try await cache.wait(wait) } catch { return outcome(problem) }
      }
    }
  }

  private static func failure(_ error: any Error, _ key: ResourceKey) -> CacheError {
    (error as? CacheError)
      ?? CacheError(.storage, "The cache's disk failed while it looked for \(key): \(error)")
  }

  private static func outcome(_ resource: CachedResource) -> RegionLoad {
    if case .notStored(let obstacle) = resource.storage {
      let key = resource.key
      switch obstacle {
      case .forbidden:
        return .failed("\(key) came, but its server does not allow it to be kept.")
      case .undecodable: return .failed("\(key) came, but is not what its reader takes.")
      case .tooLarge: return .failed("\(key) is larger than the cache takes.")
      case .removed: return .failed("\(key) was removed while it came.")
      case .diskFull:
        return .stopped(CacheError(.storage, "The disk is full. Make room, then resume."))
      case .noDisk:
        return .stopped(CacheError(.storage, "The cache has no disk. Open it with one to keep regions."))
      case .failed(let reason):
        return .stopped(CacheError(.storage, "The cache's disk failed: \(reason)"))
      }
    }
    if resource.isAbsent { return .absent }
    switch resource.origin {
    case .network: return .loaded(bytes: resource.bytes?.count ?? 0)
    case .confirmed: return .confirmed
    case .memory, .disk, .bundled: return .kept
    }
  }

  private static func outcome(_ error: CacheError) -> RegionLoad {
    switch error.code {
    case .unreachable, .timedOut, .offline: .unreachable(error)
    case .unexpectedContent: .misled(error)
    case .absent: .gone(error.message)
    case .closed, .storage, .unknownSource, .cancelled: .stopped(error)
    default: .failed(error.message)
    }
  }
}
