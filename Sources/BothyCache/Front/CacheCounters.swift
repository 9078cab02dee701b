/// How often what happened, since the cache was opened.
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
