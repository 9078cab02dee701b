public import Foundation

/// Where a cache keeps entries beyond its process.
public struct DiskTier: Sendable {
  let open: @Sendable (BlobStoreOptions) throws -> any BlobStore
  /// Where the beginnings of large bodies are kept while they come; nil to keep them in memory.
  let partials: URL?
  /// Where what was counted is added up; nil where it is not.
  var counters: CounterFile?

  /// A store of any kind, opened with the options that the cache's settings make.
  public init(partials: URL? = nil, _ open: @escaping @Sendable (BlobStoreOptions) throws -> any BlobStore) {
    self.open = open
    self.partials = partials
  }

  /// A file for each entry below `tiledb` in the folder, which is made if need be and is the cache's alone. The one to
  /// take: it measures faster, and other programs can open what is there.
  public static func files(in folder: URL) -> DiskTier {
    var tier = DiskTier(partials: folder.appending(path: "partial")) { options in
      try FileBlobStore(folder: folder.path, options: options)
    }
    tier.counters = CounterFile(folder: folder.path)
    return tier
  }

  /// One SQLite file in the folder, which is made if need be and is the cache's alone: to be moved or copied as one.
  /// Written about half as fast as `files`.
  public static func database(in folder: URL) -> DiskTier {
    var tier = DiskTier(partials: folder.appending(path: "partial")) { options in
      try SQLiteBlobStore(path: folder.appending(path: "cache.sqlite").path, options: options)
    }
    tier.counters = CounterFile(folder: folder.path)
    return tier
  }
}
