public import Foundation
public import HTTPTypes

/// The result of a read: the bytes, their origin, and their freshness.
///
/// Creating and passing one copies no bytes and allocates nothing.
public struct CachedResource: Sendable {
  /// The requested key.
  public let key: ResourceKey
  /// The place where the resource was found.
  public let origin: ResourceOrigin
  /// The freshness of the resource, with a reason if it is stale.
  public let freshness: ResourceFreshness
  /// Milliseconds since the server created or last confirmed the bytes, as far as is known. Never negative.
  public let age: Int64
  /// The outcome of storing a response from the network. A resource that was found in the cache counts as stored.
  public let storage: StorageOutcome
  package let stored: StoredEntry

  package init(
    key: ResourceKey, stored: StoredEntry, origin: ResourceOrigin, freshness: ResourceFreshness, age: Int64,
    storage: StorageOutcome = .stored
  ) {
    self.key = key
    self.stored = stored
    self.origin = origin
    self.freshness = freshness
    self.age = age
    self.storage = storage
  }

  /// The bytes, or `nil` if the server has said that the resource does not exist.
  public var bytes: Data? { isAbsent ? nil : stored.entry.body }

  /// True if the server has said that the resource does not exist, with 204, 404 or 410.
  public var isAbsent: Bool { stored.isAbsent }

  /// The status, fields and times of the response that brought or confirmed the resource.
  public var metadata: EntryMetadata { stored.entry.metadata }

  /// True if a request to the server isn't needed, because the entry is fresh.
  public var isFresh: Bool { freshness == .fresh }

  /// The fields of the server's response.
  public var fields: HTTPFields { stored.entry.metadata.fields }

  func with(freshness: ResourceFreshness) -> CachedResource {
    CachedResource(
      key: key, stored: stored, origin: origin, freshness: freshness, age: age, storage: storage)
  }
}

/// The place where a resource was found.
public enum ResourceOrigin: String, Sendable, Hashable, CaseIterable {
  /// The memory of this process. Nothing was read.
  case memory
  /// The store on disk. The resource is now in memory too, if it fits.
  case disk
  /// The resources that came with the app.
  case bundled
  /// The network, just now.
  case network
  /// The cache. The server confirmed the entry just now.
  case confirmed
}

/// The freshness of a resource.
public enum ResourceFreshness: Sendable, Hashable {
  /// Current under the source's rule, or just loaded or confirmed.
  case fresh
  /// Expired, with the reason why it was returned anyway.
  case stale(StaleReason)

  /// True if the resource is stale.
  public var isStale: Bool { self != .fresh }
}

/// The reason why a read returned a stale resource.
public enum StaleReason: Sendable, Hashable {
  /// The read was limited to the cache.
  case notChecked
  /// A request is running, and the next read may return a newer version.
  case refreshing
  /// The network is suspended, or the cache has none.
  case noNetwork
  /// The request failed or its response wasn't usable.
  case refreshFailed(BothyError)
}

/// The outcome of storing a resource.
public enum StorageOutcome: Sendable, Hashable {
  /// The resource is on disk.
  case stored
  /// The resource was returned, but isn't on disk. An earlier version may still be.
  case notStored(StorageObstacle)
}

/// The reason why a loaded resource isn't on disk.
public enum StorageObstacle: Sendable, Hashable {
  /// HTTP or the source's rule forbids it.
  case forbidden(NotStoredReason)
  /// The resource is larger than an entry may be. See `BlobStoreLimits.largestEntry`.
  case tooLarge
  /// The device has no space, even after an eviction.
  case diskFull
  /// The resource was removed during its load.
  case removed
  /// A reader needs a value, but the bytes do not decode. The stored entry stays.
  case undecodable
  /// The cache has no disk.
  case noDisk
  /// The disk failed, with this message.
  case failed(String)
}
