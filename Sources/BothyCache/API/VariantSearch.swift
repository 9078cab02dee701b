internal import HTTPTypes

/// The response that a store or a bundle has for one request under a key.
struct VariantSearch: Sendable {
  struct Found: Sendable {
    /// The key with its variant.
    var key: ResourceKey
    var stored: StoredEntry
  }

  /// The response to the request. Of several, the newest of those that answer it exactly, else the newest.
  private(set) var answer: Found?
  /// The first response under the key, if it is for other requests.
  private(set) var other: Found?

  /// Searches with one read if the resource does not vary, and with four at most.
  init(_ key: ResourceKey, for request: HTTPFields, in reader: any DiskCache.Reader) throws {
    var similar: Found?
    for variant in 0..<ResourceKey.variantCount {
      let place = key.of(variant: variant)
      guard let entry = try reader.entry(place) else { continue }
      let found = Found(key: place, stored: StoredEntry(entry))
      if found.stored.answers(request, exactly: true) {
        if found.isNewer(than: answer) { answer = found }
        if variant == 0 { return }
      } else {
        if variant == 0 { other = found }
        if found.isNewer(than: similar), found.stored.answers(request) { similar = found }
      }
    }
    guard answer == nil, let similar else { return }
    answer = similar
    if similar.key.variant == 0 { other = nil }
  }
}

extension VariantSearch.Found {
  fileprivate func isNewer(than earlier: VariantSearch.Found?) -> Bool {
    earlier.map { $0.stored.entry.metadata.validatedAt < stored.entry.metadata.validatedAt } ?? true
  }
}
