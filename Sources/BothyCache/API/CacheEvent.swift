/// An event in a cache. An event names its resource and therefore its source, and never concerns another source.
///
/// Keys of events are those of readers, without a variant. Events are posted after the change that they report.
public enum CacheEvent: Sendable, Hashable {
  /// A request to the server began.
  ///
  /// All readers share it. Another event of the key reports its end, unless the refresh of a region holds the response
  /// back.
  case requested(ResourceKey)
  /// A response had new bytes, or the first bytes. They are on disk, unless the cache has none or `notStored` came
  /// before.
  ///
  /// `bytes` is the length of the body, without content coding.
  case changed(ResourceKey, bytes: Int)
  /// The server confirmed the stored entry, with a 304 or with unchanged bytes. It is fresh again.
  case confirmed(ResourceKey)
  /// The server said that the resource does not exist. A negative entry is stored.
  ///
  /// `status` is 204, 404 or 410.
  case absent(ResourceKey, status: Int)
  /// The request failed or its response isn't usable. The stored entry does not change.
  ///
  /// Reads may still return that entry. The error has the remedy, and `status` if a response came.
  case failed(ResourceKey, BothyError)
  /// All readers of the request have left. The beginning of a large body is kept on disk, if the server allows to
  /// resume it.
  case cancelled(ResourceKey)
  /// Bytes were returned to the readers, but not stored on disk.
  ///
  /// The obstacle has the reason as a sentence.
  case notStored(ResourceKey, CachedResource.StorageObstacle)
  /// The resource was evicted from the disk, because of the limits. It may still be in memory.
  case evicted(ResourceKey)
  /// The stored entry was damaged and is quarantined. The read that found it treats it as missing.
  case corrupt(ResourceKey)
  /// The entry was removed by the app, or because a request changed the resource on the server.
  ///
  /// The app's call posts it for each of its keys, stored or not.
  case removed(ResourceKey)
  /// All entries of one source or of all sources were removed, or those from before a time.
  ///
  /// `nil` means all sources. Single keys aren't named.
  case removedAll(SourceID?)
  /// A file of the store, of the places or of the regions was damaged or of another format, and a new one replaced it.
  ///
  /// Later listeners receive it too, because it may happen while the cache is opened.
  case storeReplaced(reason: String)
  /// The system or the app requested memory, and the cache released `bytes` bytes.
  ///
  /// The bytes of decoded values are included.
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
