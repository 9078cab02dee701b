/// How a store of entries on disk behaves.
public struct BlobStoreOptions: Sendable {
  /// How much may be stored.
  public var limits: BlobStoreLimits
  /// How long a write waits for another process that is writing.
  public var busyTimeout: Duration
  /// Told of damage, on the thread that met it. It must not call the store.
  public var onEvent: (@Sendable (BlobStoreEvent) -> Void)?
  /// For tests: asked before each commit and each file whether the disk is to act as if it were full.
  package var isDiskFull: (@Sendable () -> Bool)?

  /// The default limits, 5 s for another process's write, and nobody told of damage, unless said otherwise.
  public init(
    limits: BlobStoreLimits = BlobStoreLimits(), busyTimeout: Duration = .seconds(5),
    onEvent: (@Sendable (BlobStoreEvent) -> Void)? = nil
  ) {
    self.limits = limits
    self.busyTimeout = busyTimeout
    self.onEvent = onEvent
  }
}

/// How much may be stored besides what is pinned, and what goes when that is too much.
public struct BlobStoreLimits: Sendable, Hashable {
  /// The most bytes on disk, the store's own overhead included; nil for no limit.
  public var bytes: Int64?
  /// The most entries; nil for no limit.
  public var count: Int?
  /// The largest entry that is stored, pinned ones excepted; nil for a tenth of `bytes`.
  public var largestEntry: Int64?
  /// What goes first; `leastRecentlyUsed` unless told otherwise.
  public var order: Order
  /// How far an eviction goes; down to nine tenths of the limit unless told otherwise.
  public var slack: Slack

  /// Which entries go first.
  public enum Order: Sendable, Hashable {
    /// Those whose last use is longest ago, as far as uses have been handed over (`BlobStore.touch`).
    case leastRecentlyUsed
    /// Those that came first, whether they are used or not.
    case firstIn
  }

  /// How far below a limit an eviction goes, so that not every write has to evict.
  public enum Slack: Sendable, Hashable {
    /// Down to this part of the limit, by at most 64 entries a write beyond what the limit demands.
    case lowMark(Double)
    /// At least so many entries at a time.
    case minimalPurge(Int)
  }

  /// 512 MiB with any number of entries, unless told otherwise. Pinned entries come on top.
  public init(
    bytes: Int64? = 512 << 20, count: Int? = nil, largestEntry: Int64? = nil,
    order: Order = .leastRecentlyUsed, slack: Slack = .lowMark(0.9)
  ) {
    self.bytes = bytes
    self.count = count
    self.largestEntry = largestEntry
    self.order = order
    self.slack = slack
  }
}

/// Something a store met that its owner may want to know of.
public enum BlobStoreEvent: Sendable, Hashable {
  /// The entry's bytes did not match their checksum. They were put away; the next look-up finds nothing.
  case damaged(ResourceKey)
  /// The file was no usable database of this store; it was renamed to `movedTo` and begun anew. Entries that are kept
  /// in files of their own are found again, and pins as far as the old file can be read.
  case recreated(file: String, movedTo: String, reason: String)
}
