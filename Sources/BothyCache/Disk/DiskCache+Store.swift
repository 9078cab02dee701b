extension DiskCache {
  /// The interface to a store of entries on disk.
  ///
  /// Every method blocks, may be called from any thread and is meant for the cache's own threads. After a crash each
  /// entry is whole, as it was before the call or after it. A call with many entries may be interrupted between two of
  /// them. Several processes may use one directory. Keys with different variants have separate entries, but are pinned
  /// together. Errors are `BothyError`s of BothyStore.
  ///
  /// A store of an app's own is passed to a cache by `DiskCache.init(_:)`. A failure of a write never fails a read: the
  /// cache returns the bytes and reports `CacheEvent.notStored`.
  public protocol Store: DiskCache.Reader {
    /// Writes entries, replacing those of equal keys. Evicts entries first if the limits require it.
    ///
    /// An entry has its metadata and its bytes from one call, also if other processes store under its key.
    ///
    /// The limits are enforced before this returns. An entry that is too large or for which the disk has no space isn't
    /// written, and the report says so. A pinned entry is replaced and stays pinned. Takes one transaction for about a
    /// megabyte of entries.
    @discardableResult
    func store(_ entries: [(key: ResourceKey, entry: CacheEntry)]) throws -> DiskCache.Report

    /// Sets the times of last use of entries, in milliseconds since 1970.
    ///
    /// A read never writes, so the cache collects uses and passes them in batches. With the order `firstIn` this does
    /// nothing.
    func touch(_ uses: [(key: ResourceKey, at: Int64)]) throws

    /// Removes entries, pinned or not. Pins stay, so a new entry under such a key is pinned again.
    func remove(_ keys: [ResourceKey]) throws

    /// Pins keys with all their variants for the named holder, stored or not.
    ///
    /// Pinned entries are never evicted and do not count against the limits.
    func pin(_ keys: [ResourceKey], by holder: String) throws
    /// Removes the holder's pins of the keys, or all its pins for `nil`.
    ///
    /// An entry without pins counts against the limits again, and entries beyond the limits are evicted.
    func unpin(_ keys: [ResourceKey]?, by holder: String) throws

    /// True if any holder has pinned the key, stored or not.
    func isPinned(_ key: ResourceKey) throws -> Bool

    /// Calls `body` with the pins of one holder or of all, ordered by holder, stored or not.
    ///
    /// A key has the variant 0, for all its variants. `bytes` are those of all variants, or `nil` if none is stored.
    func forEachPin(
      by holder: String?, _ body: (_ key: ResourceKey, _ holder: String, _ bytes: Int64?) throws -> Void
    ) throws

    /// Sets other limits, which are enforced before this returns. Returns the evicted keys.
    @discardableResult
    func apply(_ limits: DiskCache.Limits) throws -> [ResourceKey]

    /// Calls `body` with all entries, of a source or of all, and their counted bytes. Does not change their last use.
    func forEach(
      _ source: SourceID?,
      _ body: (_ key: ResourceKey, _ metadata: EntryMetadata, _ bytes: Int64) throws -> Void
    ) throws

    /// Closes the store. Every later call throws.
    func close() throws
  }
}
