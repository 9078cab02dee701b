internal import Dispatch
internal import HTTPTypes

/// What came with the app, read on a thread of the cache's own.
final class BundleLane: Sendable {
  private let readers: [any BlobReader]
  private let reading = DispatchQueue(label: "bothy.cache.bundle", qos: .userInitiated)

  init(_ readers: [any BlobReader]) { self.readers = readers }

  var isEmpty: Bool { readers.isEmpty }

  /// The first reader's answer to the request; one that cannot be read is passed over.
  func answer(_ key: ResourceKey, for request: HTTPFields) async -> VariantSearch.Found? {
    if readers.isEmpty { return nil }
    return await withCheckedContinuation { continuation in
      reading.async { [readers] in
        for reader in readers {
          // A reader that fails has nothing: the next one, or the network, is asked.
          if let found = try? VariantSearch(key, for: request, in: reader).answer {
            continuation.resume(returning: found)
            return
          }
        }
        continuation.resume(returning: nil)
      }
    }
  }
}
