internal import HTTPTypes

/// The response that a store or a bundle has for one request under a key.
struct VariantSearch: Sendable {
  struct Found: Sendable {
    /// The key with its variant.
    var key: ResourceKey
    var stored: StoredEntry
  }

  /// The response to the request. Of several, which another version of the store may have written, the newest.
  var answer: Found?
  /// The first response under the key, if it is for other requests.
  var other: Found?

  /// Searches with one read if the resource does not vary, and with four at most.
  init(_ key: ResourceKey, for request: HTTPFields, in reader: any BlobReader) throws {
    for variant in 0..<ResourceKey.variantCount {
      let place = key.of(variant: variant)
      guard let entry = try reader.entry(place) else { continue }
      let found = Found(key: place, stored: StoredEntry(entry))
      if !found.stored.answers(request) {
        if variant == 0 { other = found }
        continue
      }
      if answer.map({ $0.stored.entry.metadata.validatedAt < entry.metadata.validatedAt }) ?? true {
        answer = found
      }
      if variant == 0 { return }
    }
  }
}
