extension DiskCache {
  /// The result of storing entries.
  ///
  /// A store of an app's own fills it. An entry is in `refused`, or it was stored.
  public struct Report: Sendable, Hashable {
    /// The number of stored entries, including those with unchanged bytes.
    package var stored = 0
    /// The keys whose bytes did not change. The cache reports them as confirmed.
    public var unchanged: Set<ResourceKey> = []
    /// The keys that were not written because newer entries have come since the request.
    package var outdated: Set<ResourceKey> = []
    /// The keys that were not written, with the reasons. An earlier entry under such a key may be gone or still exist.
    ///
    /// Empty if all entries were stored.
    public var refused: [ResourceKey: CachedResource.StorageObstacle] = [:]
    /// The keys that were evicted, to keep the limits or to free a full disk. Variants are named apart.
    public var evicted: [ResourceKey] = []
    /// Creates an empty report.
    ///
    /// It states that all entries were stored, and nothing was evicted.
    public init() {}
  }
}
