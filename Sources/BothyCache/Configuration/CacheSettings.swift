/// The limits of a cache, passed to it when it is opened.
///
/// ```swift
/// let settings = CacheSettings(memory: MemoryLimits(bytes: 32 << 20), disk: DiskCache.Limits(bytes: 200 << 20))
/// let small = try ResourceCache(settings: settings, disk: .sqliteFile(in: folder), loader: .system)
/// ```
///
/// They aren't stored. A lower limit on disk than at the last opening evicts entries while the cache is opened.
public struct CacheSettings: Sendable, Hashable {
  /// The limits in memory. The default is 64 MiB.
  package var memory: MemoryLimits
  /// The largest estimated number of bytes of decoded values in memory. They have their own budget.
  package var decodedBytes: Int
  /// The limits on disk, not counting pinned entries. The default is 512 MiB.
  package var disk: DiskCache.Limits

  /// Creates settings.
  ///
  /// - Parameters:
  ///   - memory: the limits in memory, by default 64 MiB.
  ///   - decodedBytes: the largest estimated number of bytes of decoded values in memory, which have their own budget.
  ///     A value counts with the bytes that it was decoded from. One with more than the limit is decoded at each read.
  ///     A negative number counts as zero. The default is 16 MiB.
  ///   - disk: the limits on disk, by default 512 MiB. Pinned entries do not count.
  public init(
    memory: MemoryLimits = MemoryLimits(), decodedBytes: Int = 16 << 20,
    disk: DiskCache.Limits = DiskCache.Limits()
  ) {
    self.memory = memory
    self.decodedBytes = max(0, decodedBytes)
    self.disk = disk
  }
}
