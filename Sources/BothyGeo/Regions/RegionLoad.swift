import BothyCache
import Foundation
import HTTPTypes

/// The outcome of loading one tile of a region.
enum RegionLoad: Sendable {
  /// The tile came. If it is staged, the stored tile is still an older version.
  case loaded(bytes: Int, isStaged: Bool)
  /// The server confirmed the stored tile.
  case confirmed
  /// The tile is stored or came with the app, never changes, and so was not requested.
  case kept
  case absent(isStaged: Bool)
  /// The server reports that the tile no longer exists. The stored tile stays.
  case gone(String)
  /// This tile isn't available now. Others may be.
  case failed(String)
  /// The server refuses this tile for good (4xx, but not 408, 425 or 429). The stored tile stays.
  case refused(String)
  /// Other content came in place of the tile, for example on a network that requires a sign-in. The stored tile stays.
  case misled(BothyError)
  /// The network isn't available, or the server doesn't respond, or it wants fewer requests also after its pauses.
  case unreachable(BothyError)
  /// The cache can't load or store any tile.
  case stopped(BothyError)

  /// The maximum time that one tile waits for a server that sent `Retry-After`.
  static let patience = Duration.seconds(120)
  /// The time that a tile waits for a server that wants fewer requests and doesn't say for how long.
  private static let pause = Duration.seconds(30)
  /// The status of networks that require a sign-in (RFC 6585 §6).
  private static let signInStatus = 511

  /// Requests a tile, with a conditional request if it is stored. The stored tile stays until a newer version has
  /// arrived.
  ///
  /// - Parameters:
  ///   - region: the region of the tile. Its stage is the place for a new version of a stored tile.
  ///   - watch: decides if the response may become the tile.
  ///   - control: the control of the run, whose pause ends the wait for a server, and after a while the request.
  /// - Returns: the outcome, and the entity tag of the response or of the stored tile.
  static func of(
    _ key: ResourceKey, from cache: ResourceCache, for region: Region, _ watch: ReplacementWatch,
    _ control: RegionControl
  ) async -> (load: RegionLoad, entityTag: String?) {
    var attempts = 3
    var options = ResourceCache.Options(policy: .remote, priority: .background)
    options.admits = { await watch.admits($0) }
    options.judge = ObjectIdentifier(watch)
    options.evictingHolder = watch.removesGone ? region.holder : nil
    options.stage = region.stage
    // The run notes confirmed tiles together. One that only continues knows its tiles by what is on the disk.
    options.sharesConfirmation = region.run.isRefresh
    while true {
      do {
        let resource = try await control.asking { [options] in
          let resource = try await cache.value(key, options)
          guard resource.origin == .memory, try await cache.stored([key]).first == .some(nil),
            await cache.bundledCount([key]) == 0
          else { return resource }
          // The entry was lost from the disk and is only in memory, where it doesn't last.
          var whole = ResourceCache.Options.reload
          (whole.priority, whole.admits, whole.judge) = (.background, options.admits, options.judge)
          return try await cache.value(key, whole)
        }
        return (outcome(resource), resource.metadata.fields[.eTag])
      } catch {
        let problem = failure(error, key)
        // A server with `Retry-After` will respond. One that doesn't respond is waited for once.
        attempts -= problem.status == nil ? 2 : 1
        let demanded = problem.retryAfter ?? (isThrottled(problem) ? pause : nil)
        guard let wait = demanded, wait <= patience, attempts > 0 else {
          return (outcome(problem), nil)
        }
        await control.wait(wait, of: cache)
        if control.isPaused || Task.isCancelled { return (outcome(problem), nil) }
      }
    }
  }

  /// True if the stored tile is the server's current one.
  var isConfirmation: Bool {
    switch self {
    case .loaded(_, let isStaged), .absent(let isStaged): !isStaged
    case .confirmed, .kept: true
    case .gone, .failed, .refused, .misled, .unreachable, .stopped: false
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
      case .unconfirmed: return .failed("\(key) came, but was not confirmed by another tile.")
      case .tooLarge: return .failed("\(key) is larger than the cache takes.")
      case .removed: return .failed("\(key) was removed while it came.")
      case .diskFull:
        return .stopped(BothyError(.storage, "The disk is full. Make room, then resume."))
      case .otherSource:
        return .stopped(
          BothyError(.sourceConflict, "\(key) came, but another source has entries under its id."))
      case .noDisk:
        return .stopped(BothyError(.storage, "The cache has no disk. Open it with one to keep regions."))
      case .failed(let reason):
        return .stopped(BothyError(.storage, "The cache's disk failed: \(reason)"))
      }
    }
    let isStaged = resource.storage == .staged
    if resource.isAbsent { return .absent(isStaged: isStaged) }
    switch resource.origin {
    case .network: return .loaded(bytes: resource.bytes?.count ?? 0, isStaged: isStaged)
    case .confirmed: return .confirmed
    case .memory, .disk, .bundled: return .kept
    }
  }

  private static func outcome(_ error: BothyError) -> RegionLoad {
    switch error.code {
    case .unreachable, .timedOut, .offline: .unreachable(error)
    case _ where isThrottled(error): .unreachable(error)
    case _ where isMisled(error): .misled(error)
    case .refused where isFinal(error.status ?? 0): .refused(error.message)
    case .absent: .gone(error.message)
    case .closed, .storage, .unknownSource, .sourceConflict, .cancelled: .stopped(error)
    default: .failed(error.message)
    }
  }

  /// True if a network in place of the server may be the cause: other content, a redirect that isn't followed, or the
  /// status of such networks.
  static func isMisled(_ error: BothyError) -> Bool {
    if error.code == .unexpectedContent { return true }
    let isRedirected = (error.underlying as? LoadFailure)?.reason == .redirectRefused
    return error.code == .refused && (isRedirected || error.status == signInStatus)
  }

  /// True if the server demands a pause of all requests, as a `HostQueue` understands it.
  private static func isThrottled(_ error: BothyError) -> Bool {
    error.status == 429 || error.status == 503 && error.retryAfter != nil
  }

  /// True for an error that later requests have too. One of a server with too many requests passes.
  private static func isFinal(_ status: Int) -> Bool {
    (400..<500).contains(status) && AnswerKind(status: status) != .retry
  }
}
