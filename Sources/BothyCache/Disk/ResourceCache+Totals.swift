extension ResourceCache {
  /// The totals of one source.
  ///
  /// A crash may leave them too high by what it interrupted, and never too low.
  public struct Totals: Sendable, Hashable {
    /// The number of entries. Each variant of a key counts.
    ///
    /// Pinned entries and those that say that nothing exists count too.
    public var count = 0
    /// The counted bytes: bodies, metadata, and the rounding of the disk.
    ///
    /// Bytes that several entries share in a `DiskCache.sqliteFile` count once.
    public var bytes: Int64 = 0
    /// The number of pinned entries, which is included in `count`.
    package var pinnedCount = 0
    /// The bytes of pinned entries, which are included in `bytes`.
    package var pinnedBytes: Int64 = 0

    package init() {}

    /// Counts one entry.
    mutating func add(_ size: StoredSize) {
      count += 1
      bytes += size.bytes
      if size.isPinned {
        pinnedCount += 1
        pinnedBytes += size.bytes
      }
    }
  }
}
