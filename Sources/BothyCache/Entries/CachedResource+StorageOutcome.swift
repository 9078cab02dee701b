extension CachedResource {
  /// The outcome of storing a resource.
  package enum StorageOutcome: Sendable, Hashable {
    /// The resource is on disk, or was found in the cache.
    case stored
    /// The resource is on a stage. An earlier version is stored until the stage replaces it.
    case staged
    /// The resource was returned, but isn't on disk. An earlier version may still be.
    case notStored(CachedResource.StorageObstacle)
  }
}
