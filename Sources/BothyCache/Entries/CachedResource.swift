public import Foundation
public import HTTPTypes

/// What a read of the cache brought: the bytes, where they were found, and whether they are still good.
///
/// Making and passing one on copies no bytes and allocates nothing.
public struct CachedResource: Sendable {
  /// The key that was asked for.
  public let key: ResourceKey
  /// Where it was found.
  public let origin: ResourceOrigin
  /// Whether it may be taken for current, and why not.
  public let freshness: ResourceFreshness
  /// Milliseconds since the server made or last confirmed the bytes, as far as is known; never below zero.
  public let age: Int64
  /// Whether what came from the network is on disk now; for what was found, where it was found already.
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

  /// The bytes; nil when the server has said that there is no such resource.
  public var bytes: Data? { isAbsent ? nil : stored.entry.body }

  /// The server has said that there is nothing: 204, 404 or 410.
  public var isAbsent: Bool { stored.isAbsent }

  /// The status, fields and times of the answer that brought or confirmed it.
  public var metadata: EntryMetadata { stored.entry.metadata }

  /// Whether nothing better is to be had by asking the server.
  public var isFresh: Bool { freshness == .fresh }

  /// The fields of the server's answer.
  public var fields: HTTPFields { stored.entry.metadata.fields }

  func with(freshness: ResourceFreshness) -> CachedResource {
    CachedResource(
      key: key, stored: stored, origin: origin, freshness: freshness, age: age, storage: storage)
  }
}

/// Where a resource was found.
public enum ResourceOrigin: String, Sendable, Hashable, CaseIterable {
  /// In this process's memory: nothing was read.
  case memory
  /// In the store on disk; it is in memory now, if it fits.
  case disk
  /// In what the app brought along.
  case bundled
  /// Loaded just now.
  case network
  /// Stored here, and just now confirmed by the server.
  case confirmed
}

/// Whether a resource may be taken for the current one.
public enum ResourceFreshness: Sendable, Hashable {
  /// Current under the source's rule, or just now brought or confirmed by the server.
  case fresh
  /// Past its time, and why it was handed out all the same.
  case stale(StaleReason)

  /// Whether it is past its time.
  public var isStale: Bool { self != .fresh }
}

/// Why something was served that is not fresh any more.
public enum StaleReason: Sendable, Hashable {
  /// Nobody was to be asked: a read of the cache alone.
  case notChecked
  /// The server is being asked; the next read may bring better.
  case refreshing
  /// The network is suspended, or the cache has none.
  case noNetwork
  /// The server was asked and did not answer, or badly.
  case refreshFailed(CacheError)
}

/// Whether a resource is kept, and if not, why.
public enum StorageOutcome: Sendable, Hashable {
  /// It is on disk.
  case stored
  /// It was handed out and is not on disk; what was stored before may still be.
  case notStored(StorageObstacle)
}

/// Why a resource that came is not kept on disk.
public enum StorageObstacle: Sendable, Hashable {
  /// HTTP, or the source's rule, does not allow it.
  case forbidden(NotStoredReason)
  /// It is larger than an entry may be; see `BlobStoreLimits.largestEntry`.
  case tooLarge
  /// There is no room on the device, also after an eviction.
  case diskFull
  /// It was removed while it was on its way.
  case removed
  /// Somebody reads it as a value, which these bytes are not: what is stored stays.
  case undecodable
  /// The cache has no disk.
  case noDisk
  /// The disk failed, with what it said.
  case failed(String)
}
