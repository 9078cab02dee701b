/// The options for opening a pack.
public struct PackOptions: Sendable {
  /// The maximum number of open shards. The least recently used one is closed for another. The index is always open,
  /// and a running query keeps its shard open.
  public var openShards: Int
  /// The page cache of each open file, in bytes.
  public var cacheSize: Int
  /// A closure that is called for each file that is opened and closed, on the thread that does it. It must not call the
  /// pack.
  public var onEvent: (@Sendable (PackEvent) -> Void)?

  /// Creates options, by default with eight shards and 2 MiB of page cache for each open file. At least one shard stays
  /// open.
  public init(
    openShards: Int = 8, cacheSize: Int = 2 << 20, onEvent: (@Sendable (PackEvent) -> Void)? = nil
  ) {
    self.openShards = max(1, openShards)
    self.cacheSize = cacheSize
    self.onEvent = onEvent
  }
}

/// An event for a file of a pack.
public enum PackEvent: Sendable, Hashable {
  /// A file was opened: the index with the pack, a shard at its first use.
  case opened(file: String)
  /// A file was closed, because another needed its place or the pack was closed.
  case closed(file: String)
}
