/// How much a cache keeps where: a value that is given to it when it is opened.
public struct CacheSettings: Sendable, Hashable {
  /// What is kept in memory: 64 MiB unless told otherwise.
  public var memory: MemoryLimits
  /// The most bytes that decoded values take in memory, as they are estimated; their budget is their own.
  public var decodedBytes: Int
  /// What is kept on disk besides what is pinned: 512 MiB unless told otherwise.
  public var disk: BlobStoreLimits

  /// Decoded values take 16 MiB unless told otherwise; less than nothing is nothing.
  public init(
    memory: MemoryLimits = MemoryLimits(), decodedBytes: Int = 16 << 20,
    disk: BlobStoreLimits = BlobStoreLimits()
  ) {
    self.memory = memory
    self.decodedBytes = max(0, decodedBytes)
    self.disk = disk
  }
}
