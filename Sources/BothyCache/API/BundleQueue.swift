internal import Dispatch
internal import HTTPTypes

/// Reads the resources that came with the app, on a thread of the cache's own.
final class BundleQueue: Sendable {
  private let readers: [any DiskCache.Reader]
  private let reading = DispatchQueue(label: "bothy.cache.bundle", qos: .userInitiated)

  init(_ readers: [any DiskCache.Reader]) { self.readers = readers }

  var isEmpty: Bool { readers.isEmpty }

  /// Returns the number of these resources that a reader has. A reader of the app's that fails has none.
  func count(_ keys: [ResourceKey]) async -> Int {
    if readers.isEmpty || keys.isEmpty { return 0 }
    return await withCheckedContinuation { continuation in
      reading.async { [readers] in
        let found = keys.filter { key in
          key.variants.contains { place in
            // A failure is treated as in a read.
            readers.contains { (try? $0.metadata(place)) != nil }
          }
        }
        continuation.resume(returning: found.count)
      }
    }
  }

  /// Returns the first reader's response to the request. A reader of the app's that fails is skipped.
  ///
  /// - Parameter container: the reader of the source's own file, which is asked first and whose error is thrown.
  func answer(
    _ key: ResourceKey, for request: HTTPFields, before container: (any DiskCache.Reader)? = nil
  ) async throws -> VariantSearch.Found? {
    if readers.isEmpty, container == nil { return nil }
    return try await withCheckedThrowingContinuation { continuation in
      reading.async { [readers] in
        continuation.resume(
          with: Result {
            if let container, let found = try VariantSearch(key, for: request, in: container).answer {
              return found
            }
            for reader in readers {
              // A reader that fails has no response. The next reader or the network is next.
              if let found = try? VariantSearch(key, for: request, in: reader).answer { return found }
            }
            return nil
          })
      }
    }
  }
}
