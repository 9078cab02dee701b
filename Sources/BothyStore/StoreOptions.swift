public import Logging

/// How a store is opened.
public struct StoreOptions: Sendable {
  /// How hard a commit is.
  public enum Durability: String, Sendable, Hashable {
    /// A committed write survives a power cut (`PRAGMA synchronous = FULL`). The default.
    case full
    /// A committed write survives a crash of the process; a power cut may take the last ones, whole
    /// transactions at a time (`NORMAL`).
    case normal
  }

  public var durability: Durability
  /// Connections for reading; each keeps its own page cache.
  public var readers: Int
  /// Page cache of each connection, in bytes.
  public var cacheSize: Int
  /// How long a write waits for another process's write.
  public var busyTimeout: Duration
  public var logger: Logger

  public init(
    durability: Durability = .full, readers: Int = 4, cacheSize: Int = 8 << 20,
    busyTimeout: Duration = .seconds(5), logger: Logger = Logger(label: "bothy.store")
  ) {
    self.durability = durability
    self.readers = readers
    self.cacheSize = cacheSize
    self.busyTimeout = busyTimeout
    self.logger = logger
  }
}
