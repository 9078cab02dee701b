/// The file that all resources of a source lie in, such as an archive of tiles.
///
/// Reads by key don't show it. A file on this device is a tier before the network. A file on a server takes the place of
/// requests for single resources, whose responses are stored like any others.
package protocol SourceContainer: Sendable {
  /// The reader of a file on this device, or `nil` for a file on a server.
  var reader: (any DiskCache.Reader)? { get }

  /// Returns true if an entry in memory is still that of the file. Looks at the file's attributes at most.
  func isCurrent(_ metadata: EntryMetadata) -> Bool

  /// Returns the response for one resource: its bytes (200), 304 for an unchanged one, or 404 if the file lacks it.
  ///
  /// Any other response of the server is returned as it is. Bytes that stay packed name their coding in
  /// `Content-Encoding`.
  ///
  /// - Parameter order: the request for the resource. Its limits apply to requests for parts of the file.
  func fetch(
    _ key: ResourceKey, _ order: FetchOrder, by fetcher: Fetcher, for inFlight: InFlightRequest
  ) async throws(LoadFailure) -> FetchedResponse

  /// Announces resources that are about to be read, so that near ones are read together. Sends no request itself.
  func expect(_ keys: [ResourceKey])
}

extension ResourceCache {
  /// True if the source's resources lie in one file on a server, so that reads gain by `expect`.
  package func isInContainer(_ source: SourceID) -> Bool {
    registry[source]?.source.container.map { $0.reader == nil } ?? false
  }

  /// Announces resources of a source that are about to be read. Only matters for sources in a container.
  package func expect(_ keys: [ResourceKey], of source: SourceID) {
    registry[source]?.source.container?.expect(keys)
  }
}

extension ResourceCache.Demand {
  /// Returns the response for this demand, from the source's container if it has one.
  func fetched(
    _ order: FetchOrder, by fetcher: Fetcher, for inFlight: InFlightRequest
  ) async throws(LoadFailure) -> FetchedResponse {
    guard let container = source.container else { return try await fetcher.fetch(order, for: inFlight) }
    return try await container.fetch(key, order, by: fetcher, for: inFlight)
  }
}
