internal import Dispatch
internal import HTTPTypes

/// Reads the resources that came with the app, on a thread of the cache's own.
final class BundleQueue: Sendable {
  private let readers: [any BlobReader]
  private let reading = DispatchQueue(label: "bothy.cache.bundle", qos: .userInitiated)

  init(_ readers: [any BlobReader]) { self.readers = readers }

  var isEmpty: Bool { readers.isEmpty }

  /// Returns the first reader's response to the request. A reader that fails is skipped.
  func answer(_ key: ResourceKey, for request: HTTPFields) async -> VariantSearch.Found? {
    if readers.isEmpty { return nil }
    return await withCheckedContinuation { continuation in
      reading.async { [readers] in
        for reader in readers {
          // A reader that fails has no response. The next reader or the network is next.
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
