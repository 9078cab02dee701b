/// What happened in a cache. Each names the resource it is about, and so its source: those of one source never speak
/// for another's.
public enum CacheEvent: Sendable, Hashable {
  /// The server is being asked.
  case requested(ResourceKey)
  /// Bytes have come that differ from those stored before, or the first.
  case changed(ResourceKey, bytes: Int)
  /// The server has confirmed what is stored, with a 304 or with the same bytes again.
  case confirmed(ResourceKey)
  /// The server has said that there is no such resource.
  case absent(ResourceKey, status: Int)
  /// The server could not be asked, or its answer may not be used; what is stored stays as it was.
  case failed(ResourceKey, CacheError)
  /// Everybody who waited has left.
  case cancelled(ResourceKey)
  /// Bytes came and went to whoever waited, but are not kept.
  case notStored(ResourceKey, StorageObstacle)
  /// Went from disk to make room.
  case evicted(ResourceKey)
  /// What was stored was damaged; it is out of the way.
  case corrupt(ResourceKey)
  /// Was removed by the app, or because a request changed it on the server.
  case removed(ResourceKey)
  /// All of one source, or of all, has been removed, or what came before a time.
  case removedAll(SourceID?)
  /// The store's file was damaged; a new one is in its place.
  case storeReplaced(reason: String)
  /// The system asked for memory; so many bytes were let go.
  case memoryTrimmed(bytes: Int)
  /// `suspendNetwork` was called, and did not hold before.
  case networkSuspended
  /// `resumeNetwork` was called, and `suspendNetwork` held.
  case networkResumed

  /// The resource it is about; nil for what concerns many.
  public var key: ResourceKey? {
    switch self {
    case .requested(let key), .changed(let key, _), .confirmed(let key), .absent(let key, _),
      .failed(let key, _),
      .cancelled(let key), .notStored(let key, _), .evicted(let key), .corrupt(let key), .removed(let key):
      key
    case .removedAll, .storeReplaced, .memoryTrimmed, .networkSuspended, .networkResumed: nil
    }
  }

  /// The source it is about; nil for what concerns the whole cache.
  public var source: SourceID? {
    if case .removedAll(let source) = self { return source }
    return key?.source
  }
}
