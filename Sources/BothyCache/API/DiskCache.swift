public import Foundation

/// The place where a cache keeps entries beyond its process.
///
/// A value describes it and opens nothing. On Apple's platforms its files are excluded from backups, because all of
/// them can be downloaded again.
public struct DiskCache: Sendable {
  let openStore: @Sendable (DiskCache.Options) throws -> any DiskCache.Store
  /// The folder for the beginnings of large bodies during a download, or `nil` to keep them in memory.
  let partials: URL?
  /// The file that adds up the counters, or `nil` if the cache has none.
  var counters: CounterFile?

  /// Uses a store of any kind.
  ///
  /// `ResourceCache.export` needs a store of `folder` or `sqliteFile`. Totals and the removal of a source read another
  /// store entry by entry.
  ///
  /// - Parameter open: opens the store with the limits of the cache's settings. The store calls `damaged` with each
  ///   entry whose bytes it found damaged, on any thread. An error that it throws is thrown by the cache's initializer.
  public init(
    _ open:
      @escaping @Sendable (
        _ limits: DiskCache.Limits, _ damaged: @escaping @Sendable (ResourceKey) -> Void
      ) throws -> any DiskCache.Store
  ) {
    self.init(partials: nil) { options in
      try open(options.limits) { key in options.onEvent?(.damaged(key)) }
    }
  }

  package init(
    partials: URL? = nil, _ open: @escaping @Sendable (DiskCache.Options) throws -> any DiskCache.Store
  ) {
    openStore = open
    self.partials = partials
  }

  /// Opens the store by itself, without a cache. Blocks while the folder is opened.
  ///
  /// ```swift
  /// let files = try DiskCache.folder(folder).open()
  /// try files.forEach(nil) { key, _, bytes in show("\(key): \(bytes) bytes") }
  /// ```
  ///
  /// Close it by `DiskCache.Store.close()`. Entries beyond `limits` are evicted at once.
  ///
  /// - Throws: `BothyError`, such as `.readOnly` or `.busy`.
  public func open(limits: DiskCache.Limits = DiskCache.Limits()) throws -> any DiskCache.Store {
    try openStore(DiskCache.Options(limits: limits))
  }

  /// Opens the store by itself, for entries of these sources. Each id belongs to its source from the first entry on.
  package func open(limits: DiskCache.Limits, for sources: [ResourceSource]) throws -> any DiskCache.Store {
    let identities = Dictionary(sources.map { ($0.id, RegisteredSource($0).storedIdentity) }) { $1 }
    var options = DiskCache.Options(limits: limits)
    options.identity = { identities[$0] ?? nil }
    return try openStore(options)
  }

  /// Stores each entry as a file of its own below `tiledb` in the folder, which other programs can open.
  ///
  /// Creates the folder if needed. The cache must be its only user. Each file takes whole blocks of the disk, and equal
  /// bytes are stored for each key, so maps of small tiles take several times the room of `sqliteFile`. Nothing is opened
  /// before the cache is, which throws as for `sqliteFile`.
  public static func folder(_ folder: URL) -> DiskCache {
    var cache = DiskCache(partials: folder.appending(path: "partial")) { options in
      try DiskStore(folder: folder.path, layout: .files, options: options)
    }
    cache.counters = CounterFile(folder: folder.path)
    return cache
  }

  /// Stores equal bytes once for all keys and sources, small ones together in pages of one SQLite file.
  ///
  /// Bytes of more than 96 KB are in files beside it. Creates the folder if needed. The cache must be its only user. A
  /// folder that `folder` has filled is taken over, and its entries move when they are replaced. A confirmation by the
  /// server writes no bytes of the resource.
  ///
  /// A damaged file, or one of a newer version, is renamed and replaced. Its readable entries and pins are copied, and
  /// `CacheEvent.storeReplaced` reports it. What can't be read of a newer file stays beside the new one for 30 days,
  /// for a version that can. Processes of both versions can't use the folder at a time. If pins were lost, limits evict
  /// nothing that was stored before until a holder has pinned again, or for 30 days. Opening throws `BothyError`.
  public static func sqliteFile(in folder: URL) -> DiskCache {
    var cache = DiskCache(partials: folder.appending(path: "partial")) { options in
      let path = folder.appending(path: "cache.sqlite").path
      let isOfFiles = FileBytes.size(path) == nil && FileBytes.size(folder.path + "/index.sqlite") != nil
      return isOfFiles
        ? try DiskStore(folder: folder.path, layout: .pages, options: options)
        : try DiskStore(path: path, options: options)
    }
    cache.counters = CounterFile(folder: folder.path)
    return cache
  }
}
