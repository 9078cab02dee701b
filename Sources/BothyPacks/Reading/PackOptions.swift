/// How a pack is opened.
public struct PackOptions: Sendable {
  /// The most shards that stay open at a time; the one not used for longest is closed for another. The index is always
  /// open. A query that runs keeps its shard.
  public var openShards: Int
  /// Page cache of each open file, in bytes.
  public var cacheSize: Int
  /// Told of each file that is opened and closed, on the thread that does it. It must not call the pack.
  public var onEvent: (@Sendable (PackEvent) -> Void)?

  /// Eight shards and 2 MiB of page cache for each open file, unless told otherwise; at least one shard stays open.
  public init(
    openShards: Int = 8, cacheSize: Int = 2 << 20, onEvent: (@Sendable (PackEvent) -> Void)? = nil
  ) {
    self.openShards = max(1, openShards)
    self.cacheSize = cacheSize
    self.onEvent = onEvent
  }
}

/// What a pack does with its files.
public enum PackEvent: Sendable, Hashable {
  /// A file was opened: the index when the pack is, a shard at its first use.
  case opened(file: String)
  /// A file was closed, because another needed its place or the pack was closed.
  case closed(file: String)
}
