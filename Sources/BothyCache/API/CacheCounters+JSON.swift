import BothyStore

/// The form of the counters that tools show.
extension CacheCounters {
  /// The number of reads that found a stored entry, or looked for one in vain.
  package var reads: Int { memoryHits + diskHits + bundledHits + misses }

  package func writeMembers(to writer: inout JSONWriter) {
    writer.member("memoryHits", memoryHits)
    writer.member("diskHits", diskHits)
    writer.member("bundledHits", bundledHits)
    writer.member("misses", misses)
    writer.member("stale", stale)
    writer.member("loaded", loaded)
    writer.member("confirmed", confirmed)
    writer.member("failed", failed)
    writer.member("coalesced", coalesced)
    writer.member("evictedFromDisk", evictedFromDisk)
    writer.member("bytesLoaded", bytesLoaded)
    writer.member("bytesServed", bytesServed)
  }
}
