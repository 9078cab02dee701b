extension Pack {
  /// The options for opening a pack.
  public struct Options: Sendable {
    /// The maximum number of open shards. The least recently used one is closed for another. The index is always open,
    /// and a running query keeps its shard open.
    ///
    /// Opening a shard again costs a few reads of the disk. A value below 1 counts as 1.
    public var openShards: Int
    /// The page cache of each open file, in bytes.
    package var cacheSize: Int
    /// A closure that is called for each file that is opened and closed, on the thread that does it. It must not call the
    /// pack.
    package var onEvent: (@Sendable (Pack.Event) -> Void)?

    /// Creates options, by default with eight shards. At least one stays open. Each open file has 2 MiB of page cache.
    ///
    /// With the default, a pack uses up to 18 MiB for its pages.
    public init(openShards: Int = 8) {
      self.openShards = max(1, openShards)
      cacheSize = 2 << 20
    }

    /// Creates options with a listener.
    package init(openShards: Int = 8, onEvent: @escaping @Sendable (Pack.Event) -> Void) {
      self.init(openShards: openShards)
      self.onEvent = onEvent
    }
  }
}
