/// How often what happened, since the cache was opened.
public struct CacheCounters: Sendable, Hashable, Codable {
  public var memoryHits = 0
  public var diskHits = 0
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
  public var failed = 0
  /// Reads that joined a request under way.
  public var coalesced = 0
  public var evictedFromMemory = 0
  public var evictedFromDisk = 0
  public var corrupt = 0
  public var notStored = 0
  /// Bytes of bodies that came from the network.
  public var bytesLoaded: Int64 = 0
  /// Bytes that reads were served from memory, disk and bundle.
  public var bytesServed: Int64 = 0

  public init() {}

  public static func + (left: CacheCounters, right: CacheCounters) -> CacheCounters {
    var sum = left
    sum.memoryHits += right.memoryHits
    sum.diskHits += right.diskHits
    sum.bundledHits += right.bundledHits
    sum.misses += right.misses
    sum.stale += right.stale
    sum.loaded += right.loaded
    sum.confirmed += right.confirmed
    sum.absent += right.absent
    sum.failed += right.failed
    sum.coalesced += right.coalesced
    sum.evictedFromMemory += right.evictedFromMemory
    sum.evictedFromDisk += right.evictedFromDisk
    sum.corrupt += right.corrupt
    sum.notStored += right.notStored
    sum.bytesLoaded += right.bytesLoaded
    sum.bytesServed += right.bytesServed
    return sum
  }
}
