/// How often what happened: since a cache was opened, or ever in its folder.
public struct CacheCounters: Sendable, Hashable, Codable {
  /// Look-ups that found the entry in memory, those of `peek` among them.
  public var memoryHits = 0
  /// Look-ups that found the entry in the store on disk.
  public var diskHits = 0
  /// Look-ups that found the entry in what came with the app.
  public var bundledHits = 0
  /// Reads that found nothing stored.
  public var misses = 0
  /// Reads that were served something no longer fresh.
  public var stale = 0
  /// Answers of the server with new bytes.
  public var loaded = 0
  /// Answers 304, and the same bytes again.
  public var confirmed = 0
  /// Answers that there is nothing, and reads that were served such an answer from the cache.
  public var absent = 0
  /// Requests that brought no answer that may be used; those that were called off do not count.
  public var failed = 0
  /// Reads that joined a request under way.
  public var coalesced = 0
  /// Entries that left memory to make room; the disk still has them.
  public var evictedFromMemory = 0
  /// Entries that left the disk to make room.
  public var evictedFromDisk = 0
  /// Entries on disk whose bytes did not match their checksum.
  public var corrupt = 0
  /// Answers that were handed out and not kept, whatever the reason.
  public var notStored = 0
  /// Bytes of bodies that came from the network.
  public var bytesLoaded: Int64 = 0
  /// Bytes that reads were served from memory, disk and bundle.
  public var bytesServed: Int64 = 0

  /// All zero.
  public init() {}

  /// The sums of both, counter by counter: of several sources, or of several caches.
  public static func + (left: CacheCounters, right: CacheCounters) -> CacheCounters {
    combine(left, right) {
      $0 + $1
    } bytes: {
      $0 + $1
    }
  }

  static func - (left: CacheCounters, right: CacheCounters) -> CacheCounters {
    combine(left, right) {
      $0 - $1
    } bytes: {
      $0 - $1
    }
  }

  private static func combine(
    _ left: CacheCounters, _ right: CacheCounters, _ count: (Int, Int) -> Int,
    bytes: (Int64, Int64) -> Int64
  ) -> CacheCounters {
    var result = CacheCounters()
    result.memoryHits = count(left.memoryHits, right.memoryHits)
    result.diskHits = count(left.diskHits, right.diskHits)
    result.bundledHits = count(left.bundledHits, right.bundledHits)
    result.misses = count(left.misses, right.misses)
    result.stale = count(left.stale, right.stale)
    result.loaded = count(left.loaded, right.loaded)
    result.confirmed = count(left.confirmed, right.confirmed)
    result.absent = count(left.absent, right.absent)
    result.failed = count(left.failed, right.failed)
    result.coalesced = count(left.coalesced, right.coalesced)
    result.evictedFromMemory = count(left.evictedFromMemory, right.evictedFromMemory)
    result.evictedFromDisk = count(left.evictedFromDisk, right.evictedFromDisk)
    result.corrupt = count(left.corrupt, right.corrupt)
    result.notStored = count(left.notStored, right.notStored)
    result.bytesLoaded = bytes(left.bytesLoaded, right.bytesLoaded)
    result.bytesServed = bytes(left.bytesServed, right.bytesServed)
    return result
  }
}
