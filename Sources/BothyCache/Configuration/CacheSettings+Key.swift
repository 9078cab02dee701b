extension CacheSettings {
  /// The names of a cache's settings in user defaults and property lists.
  ///
  /// They are part of the API, so that settings panels and launch arguments may use them.
  package enum Key: String, Sendable, Hashable, CaseIterable {
    /// The most bytes in memory: a whole number, not negative.
    ///
    /// Zero keeps nothing in memory.
    case memoryBytes = "bothy.cache.memory.bytes"
    /// The most entries in memory: a whole number from one on. Without it any number is kept.
    case memoryCount = "bothy.cache.memory.count"
    /// `scanResistant`, `leastRecentlyUsed` or `firstIn`. Case does not count.
    case memoryOrder = "bothy.cache.memory.order"
    /// The most bytes of decoded values: a whole number, not negative.
    case decodedBytes = "bothy.cache.decoded.bytes"
    /// The most bytes on disk: a whole number, not negative.
    ///
    /// Pinned entries do not count.
    case diskBytes = "bothy.cache.disk.bytes"
    /// The most entries on disk: a whole number from one on. Pinned entries do not count.
    case diskCount = "bothy.cache.disk.count"
    /// `leastRecentlyUsed` or `firstIn`. Case does not count.
    case diskOrder = "bothy.cache.disk.order"
  }
}
