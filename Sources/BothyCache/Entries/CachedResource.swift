public import Foundation
package import HTTPTypes

/// The result of a read: the bytes, their origin, and their freshness.
///
/// Creating and passing one copies no bytes and allocates nothing. It holds its bytes in memory, also if the cache has
/// evicted or replaced them. It may be passed to any thread.
public struct CachedResource: Sendable {
  /// The requested key.
  package let key: ResourceKey
  /// The place where the resource was found.
  ///
  /// `network` and `confirmed` mean that the read waited for a request.
  public let origin: CachedResource.Origin
  package let freshness: CachedResource.Freshness
  /// Milliseconds since the server created or last confirmed the bytes, as far as is known. Never negative.
  ///
  /// It is that of the moment of the read and does not grow.
  public let age: Int64
  package let storage: CachedResource.StorageOutcome
  package let stored: StoredEntry
  /// True if other callers have received the same response, which may be for one of them alone.
  package internal(set) var isShared = false
  /// The request that brought it, until its callers are known.
  var request: InFlightRequest?

  package init(
    key: ResourceKey, stored: StoredEntry, origin: CachedResource.Origin, freshness: CachedResource.Freshness,
    age: Int64,
    storage: CachedResource.StorageOutcome = .stored
  ) {
    self.key = key
    self.stored = stored
    self.origin = origin
    self.freshness = freshness
    self.age = age
    self.storage = storage
  }

  /// The bytes, or `nil` if the server has said that the resource does not exist.
  ///
  /// They are without content coding, and may be empty.
  public var bytes: Data? { isAbsent ? nil : stored.entry.body }

  /// True if the server has said that the resource does not exist, with 204, 404 or 410.
  ///
  /// Such a response is stored too, and has a lifetime of its own.
  public var isAbsent: Bool { stored.isAbsent }

  /// The status, fields and times of the response that brought or confirmed the resource.
  ///
  /// Its `fields` are decoded at each access.
  public var metadata: EntryMetadata { stored.entry.metadata }

  /// True if a request to the server isn't needed, because the entry is fresh.
  ///
  /// It is that of the moment of the read. A response that just came is fresh in any case.
  public var isFresh: Bool { !freshness.isStale }

  /// The reason why the resource was returned although it is stale, or `nil` if it is fresh.
  ///
  /// The bytes may be used, and an app can mark them as old.
  public var staleReason: CachedResource.StaleReason? {
    guard case .stale(let reason) = freshness else { return nil }
    return reason
  }

  /// The reason why a response from the network isn't on disk, or `nil` if it is, or was found in the cache.
  ///
  /// The bytes are valid in any case. Without a disk each response has a reason.
  public var notStored: CachedResource.StorageObstacle? {
    guard case .notStored(let obstacle) = storage else { return nil }
    return obstacle
  }

  /// The fields of the server's response.
  package var fields: HTTPFields { stored.entry.metadata.fields }

  func with(freshness: CachedResource.Freshness) -> CachedResource {
    CachedResource(
      key: key, stored: stored, origin: origin, freshness: freshness, age: age, storage: storage)
  }
}
