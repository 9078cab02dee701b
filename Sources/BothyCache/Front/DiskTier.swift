/// Where a cache keeps entries beyond its process.
public struct DiskTier: Sendable {
  let open: @Sendable (BlobStoreOptions) throws -> any BlobStore

  /// A store of any kind, opened with the options that the cache's settings make.
  public init(_ open: @escaping @Sendable (BlobStoreOptions) throws -> any BlobStore) { self.open = open }
}
