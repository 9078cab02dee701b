/// The sizes to which a cache is bounded.
///
/// ```swift
/// let cache = try ResourceCache(limits: CacheLimits(disk: 64 << 20))
/// ```
public struct CacheLimits: Sendable, Hashable {
  /// The largest number of bytes in memory.
  public var memory: Int
  /// The largest number of bytes on disk. Pinned entries don't count, and are never deleted for space.
  public var disk: Int64

  /// Creates limits in bytes. By default 32 MiB of memory and 256 MiB of disk.
  public init(memory: Int = 32 << 20, disk: Int64 = 256 << 20) { (self.memory, self.disk) = (memory, disk) }
}
