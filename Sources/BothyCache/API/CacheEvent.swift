/// An event in a cache. An event names its resource and therefore its source, and never concerns another source.
public enum CacheEvent: Sendable, Hashable {
  /// A request to the server began.
  case requested(ResourceKey)
  /// A response had new bytes, or the first bytes.
  case changed(ResourceKey, bytes: Int)
  /// The server confirmed the stored entry, with a 304 or with unchanged bytes.
  case confirmed(ResourceKey)
  /// The server said that the resource does not exist.
  case absent(ResourceKey, status: Int)
  /// The request failed or its response isn't usable. The stored entry does not change.
  case failed(ResourceKey, BothyError)
  /// All readers of the request have left.
  case cancelled(ResourceKey)
  /// Bytes were returned to the readers, but not stored.
  case notStored(ResourceKey, StorageObstacle)
  /// The resource was evicted from the disk.
  case evicted(ResourceKey)
  /// The stored entry was damaged and is quarantined.
  case corrupt(ResourceKey)
  /// The entry was removed by the app, or because a request changed the resource on the server.
  case removed(ResourceKey)
  /// All entries of one source or of all sources were removed, or those from before a time.
  case removedAll(SourceID?)
  /// A file of the store, or the list of regions, was damaged or of another format, and a new file replaced it.
  case storeReplaced(reason: String)
  /// The system requested memory, and the cache released `bytes` bytes.
  case memoryTrimmed(bytes: Int)
  /// `suspendNetwork` was called while the network wasn't suspended.
  case networkSuspended
  /// `resumeNetwork` was called while the network was suspended.
  case networkResumed

  /// The resource of the event, or `nil` if it concerns several.
  package var key: ResourceKey? {
    switch self {
    case .requested(let key), .changed(let key, _), .confirmed(let key), .absent(let key, _),
      .failed(let key, _),
      .cancelled(let key), .notStored(let key, _), .evicted(let key), .corrupt(let key), .removed(let key):
      key
    case .removedAll, .storeReplaced, .memoryTrimmed, .networkSuspended, .networkResumed: nil
    }
  }

  /// The source of the event, or `nil` if it concerns the whole cache.
  package var source: SourceID? {
    if case .removedAll(let source) = self { return source }
    return key?.source
  }
}
