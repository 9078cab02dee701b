/// The reason why a resource or an entry isn't on disk. The description says it as a sentence.
public struct StorageObstacle: Sendable, Hashable, CustomStringConvertible {
  package enum Kind: Sendable, Hashable {
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
    /// It came over plain HTTP, behind a reader or for a pinned tile, and no other tile has confirmed the network yet.
    case unconfirmed
    /// The cache has no disk.
    case noDisk
    /// The disk failed, with this message.
    case failed(String)
  }

  package let kind: Kind

  /// The entry is larger than the store's limit for one entry.
  public static let tooLarge = StorageObstacle(kind: .tooLarge)
  /// The disk has no space, even after an eviction.
  public static let diskFull = StorageObstacle(kind: .diskFull)
  package static let removed = StorageObstacle(kind: .removed)
  package static let undecodable = StorageObstacle(kind: .undecodable)
  package static let unconfirmed = StorageObstacle(kind: .unconfirmed)
  package static let noDisk = StorageObstacle(kind: .noDisk)
  package static func forbidden(_ reason: NotStoredReason) -> StorageObstacle {
    StorageObstacle(kind: .forbidden(reason))
  }
  package static func failed(_ message: String) -> StorageObstacle {
    StorageObstacle(kind: .failed(message))
  }

  public var description: String {
    switch kind {
    case .forbidden: "The server or the source's rule forbids to keep it."
    case .tooLarge: "It is larger than an entry may be."
    case .diskFull: "The device has no space."
    case .removed: "It was removed while it was loaded."
    case .undecodable: "It does not decode to the type that a reader needs."
    case .unconfirmed: "No other tile came yet that shows that the network is not one with a sign-in."
    case .noDisk: "The cache has no disk."
    case .failed(let message): "The disk failed: \(message)"
    }
  }
}
