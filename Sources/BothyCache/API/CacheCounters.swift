/// Counts of what happened, since a cache was opened or over the lifetime of its folder.
///
/// They are for people and logs, and nothing in the cache depends on them. They only grow.
public struct CacheCounters: Sendable, Hashable, Codable {
  /// Look-ups that found the entry in memory, including those of `peek`.
  ///
  /// A stale entry counts too, even if a request follows.
  public var memoryHits = 0
  /// Look-ups that found the entry in the store on disk. It is in memory then, if it fits.
  public var diskHits = 0
  /// Look-ups that found the entry in the resources that came with the app.
  package var bundledHits = 0
  /// Reads that found nothing stored, and mostly sent a request. Reloads do not look, so they do not count.
  public var misses = 0
  /// Reads that returned a stale entry.
  package var stale = 0
  /// Responses of the server with new bytes. Those that weren't stored count too.
  public var loaded = 0
  /// Responses with status 304 or with unchanged bytes.
  package var confirmed = 0
  /// Responses that say that nothing exists, and reads that returned such a response from the cache.
  package var absent = 0
  /// Requests without a usable response. Cancelled requests do not count.
  ///
  /// Attempts of one request count once, as do its readers.
  public var failed = 0
  /// Reads that joined a running request.
  package var coalesced = 0
  /// Entries evicted from memory. They are still on disk.
  package var evictedFromMemory = 0
  /// Entries evicted from the disk.
  package var evictedFromDisk = 0
  /// Entries on disk whose bytes did not match their checksum.
  package var corrupt = 0
  /// Responses that were returned but not stored, for any reason.
  package var notStored = 0
  /// Bytes of bodies that came from the network, without content coding.
  ///
  /// Failed and resumed parts do not count apart.
  public var bytesLoaded: Int64 = 0
  /// Bytes that reads returned from memory, disk and bundle.
  package var bytesServed: Int64 = 0

  /// Creates counters of zero.
  package init() {}

  /// Returns the sum of each counter, for several sources or several caches.
  package static func + (left: CacheCounters, right: CacheCounters) -> CacheCounters {
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
