import BothyCache
import Foundation

/// An archive on this device as all of a source. The cache reads it in place and stores no second copy.
final class LocalArchive: SourceContainer {
  private let tier: ArchiveTier

  init(_ tier: ArchiveTier) { self.tier = tier }

  var reader: (any DiskCache.Reader)? { tier }

  func isCurrent(_ metadata: EntryMetadata) -> Bool { tier.isCurrent(metadata) }

  func fetch(
    _ key: ResourceKey, _ order: FetchOrder, by fetcher: Fetcher, for inFlight: InFlightRequest
  ) async throws(LoadFailure) -> FetchedResponse {
    throw LoadFailure(.invalidRequest, "It is in a file on this device, and no server has it.")
  }

  func expect(_ keys: [ResourceKey]) {}
}
