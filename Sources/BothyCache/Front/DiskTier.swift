public import Foundation

/// The place where a cache keeps entries beyond its process.
public struct DiskTier: Sendable {
  let openStore: @Sendable (BlobStoreOptions) throws -> any BlobStore
  /// The folder for the beginnings of large bodies during a download, or `nil` to keep them in memory.
  let partials: URL?
  /// The file that adds up the counters, or `nil` if the cache has none.
  var counters: CounterFile?

  /// Uses a store of any kind.
  ///
  /// - Parameter open: opens the store with the limits of the cache's settings. The store calls `damaged` with each
  ///   entry whose bytes it found damaged, on any thread.
  public init(
    _ open:
      @escaping @Sendable (
        _ limits: BlobStoreLimits, _ damaged: @escaping @Sendable (ResourceKey) -> Void
      ) throws -> any BlobStore
  ) {
    self.init(partials: nil) { options in
      try open(options.limits) { key in options.onEvent?(.damaged(key)) }
    }
  }

  package init(
    partials: URL? = nil, _ open: @escaping @Sendable (BlobStoreOptions) throws -> any BlobStore
  ) {
    openStore = open
    self.partials = partials
  }

  /// Opens the store by itself, without a cache. Blocks while the folder is opened. Throws `BothyError`.
  public func open(limits: BlobStoreLimits = BlobStoreLimits()) throws -> any BlobStore {
    try openStore(BlobStoreOptions(limits: limits))
  }

  /// Stores each entry as a file below `tiledb` in the folder.
  ///
  /// Creates the folder if needed. The cache must be its only user. Prefer this tier: it measures faster, and other
  /// programs can open the files.
  public static func files(in folder: URL) -> DiskTier {
    var tier = DiskTier(partials: folder.appending(path: "partial")) { options in
      try FileBlobStore(folder: folder.path, options: options)
    }
    tier.counters = CounterFile(folder: folder.path)
    return tier
  }

  /// Stores all entries in one SQLite file in the folder, which can be moved or copied as one.
  ///
  /// Creates the folder if needed. The cache must be its only user. Writes about half as fast as `files`.
  public static func database(in folder: URL) -> DiskTier {
    var tier = DiskTier(partials: folder.appending(path: "partial")) { options in
      try SQLiteBlobStore(path: folder.appending(path: "cache.sqlite").path, options: options)
    }
    tier.counters = CounterFile(folder: folder.path)
    return tier
  }
}
