internal import Dispatch

/// What came with the app, read on a thread of the cache's own.
final class BundleLane: Sendable {
  private let readers: [any BlobReader]
  private let reading = DispatchQueue(label: "bothy.cache.bundle", qos: .userInitiated)

  init(_ readers: [any BlobReader]) { self.readers = readers }

  var isEmpty: Bool { readers.isEmpty }

  /// The first reader's entry; one that cannot be read is passed over.
  func entry(_ key: ResourceKey) async -> CacheEntry? {
    if readers.isEmpty { return nil }
    return await withCheckedContinuation { continuation in
      reading.async { [readers] in
        for reader in readers {
          // A reader that fails has nothing: the next one, or the network, is asked.
          if let entry = try? reader.entry(key) {
            continuation.resume(returning: entry)
            return
          }
        }
        continuation.resume(returning: nil)
      }
    }
  }
}
