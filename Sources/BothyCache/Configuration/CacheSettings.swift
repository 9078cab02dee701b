/// The limits of a cache, passed to it when it is opened.
public struct CacheSettings: Sendable, Hashable {
  /// The limits in memory. The default is 64 MiB.
  public var memory: MemoryLimits
  /// The largest estimated number of bytes of decoded values in memory. They have their own budget.
  public var decodedBytes: Int
  /// The limits on disk, not counting pinned entries. The default is 512 MiB.
  public var disk: BlobStoreLimits

  /// Creates settings. Decoded values may use 16 MiB by default, and a negative number counts as zero.
  public init(
    memory: MemoryLimits = MemoryLimits(), decodedBytes: Int = 16 << 20,
    disk: BlobStoreLimits = BlobStoreLimits()
  ) {
    self.memory = memory
    self.decodedBytes = max(0, decodedBytes)
    self.disk = disk
  }
}
