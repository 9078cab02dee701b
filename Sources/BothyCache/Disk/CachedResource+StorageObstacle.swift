extension CachedResource {
  /// The reason why a resource or an entry isn't on disk. The description says it as a sentence.
  ///
  /// It never means that a read failed: the bytes were returned to the readers. Compare with the constants; other reasons
  /// have a description alone.
  public struct StorageObstacle: Sendable, Hashable, CustomStringConvertible {
    package enum Kind: Sendable, Hashable {
      /// HTTP or the source's rule forbids it, such as `no-store` in the response.
      case forbidden(NotStoredReason)
      /// The resource is larger than an entry may be. See `DiskCache.Limits.largestEntry`.
      ///
      /// A pinned resource has no such limit.
      case tooLarge
      /// The device has no space, even after an eviction. The next response tries again.
      case diskFull
      /// The resource was removed during its load. It isn't stored, so that the removal holds.
      case removed
      /// A reader needs a value, but the bytes do not decode. The stored entry stays.
      case undecodable
      /// It came over plain HTTP, behind a reader or for a pinned tile, and no other tile has confirmed the network yet.
      ///
      /// Another tile with other content within ten seconds confirms it.
      case unconfirmed
      /// The disk has entries of another source under its id.
      case otherSource
      /// The cache has no disk. The resource may be in memory.
      case noDisk
      /// The disk failed, with this message. The resource may be in memory.
      case failed(String)
    }

    package let kind: Kind

    /// The entry is larger than the store's limit for one entry.
    ///
    /// Raise `DiskCache.Limits.largestEntry`, or pin the resource before it is loaded.
    public static let tooLarge = CachedResource.StorageObstacle(kind: .tooLarge)
    /// The disk has no space, even after an eviction.
    ///
    /// An earlier version of the entry may be gone too. Free some space; the next response is stored again.
    public static let diskFull = CachedResource.StorageObstacle(kind: .diskFull)
    package static let removed = CachedResource.StorageObstacle(kind: .removed)
    package static let undecodable = CachedResource.StorageObstacle(kind: .undecodable)
    package static let unconfirmed = CachedResource.StorageObstacle(kind: .unconfirmed)
    package static let otherSource = CachedResource.StorageObstacle(kind: .otherSource)
    package static let noDisk = CachedResource.StorageObstacle(kind: .noDisk)
    package static func forbidden(_ reason: NotStoredReason) -> CachedResource.StorageObstacle {
      CachedResource.StorageObstacle(kind: .forbidden(reason))
    }
    package static func failed(_ message: String) -> CachedResource.StorageObstacle {
      CachedResource.StorageObstacle(kind: .failed(message))
    }

    /// The reason as a sentence in English, for logs.
    public var description: String {
      switch kind {
      case .forbidden: "The server or the source's rule forbids to keep it."
      case .tooLarge: "It is larger than an entry may be."
      case .diskFull: "The device has no space."
      case .removed: "It was removed while it was loaded."
      case .undecodable: "It does not decode to the type that a reader needs."
      case .unconfirmed: "No other tile came yet that shows that the network is not one with a sign-in."
      case .otherSource: "Another source has entries under its id."
      case .noDisk: "The cache has no disk."
      case .failed(let message): "The disk failed: \(message)"
      }
    }
  }
}
