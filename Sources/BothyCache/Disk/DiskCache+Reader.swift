extension DiskCache {
  /// A source of entries: a store, or the resources that came with the app, which are never written.
  ///
  /// Its methods block, and the cache calls them on threads of its own, several at a time.
  public protocol Reader: Sendable {
    /// Returns the entry with its bytes, checked against their checksum, or `nil` if it is missing or damaged.
    ///
    /// A store quarantines a damaged entry and reports it. It writes nothing else.
    func entry(_ key: ResourceKey) throws -> CacheEntry?

    /// Returns the metadata of the entry, without its bytes.
    func metadata(_ key: ResourceKey) throws -> EntryMetadata?
  }
}
