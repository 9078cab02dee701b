extension CachedResource {
  /// The place where a resource was found.
  ///
  /// It is that of the bytes. See `CachedResource.isFresh` for their use.
  public enum Origin: String, Sendable, Hashable, CaseIterable {
    /// The memory of this process. Nothing was read.
    case memory
    /// The store on disk. The resource is now in memory too, if it fits.
    case disk
    /// The resources that came with the app, or an archive on this device. It is now in memory too, if it fits.
    case bundled
    /// The network, just now. The response had the bytes.
    case network
    /// The cache. The server confirmed the entry just now.
    ///
    /// The request cost a round trip, and no body came.
    case confirmed
  }
}
