internal import HTTPTypes

/// What a store or a bundle has for one request under a key.
struct VariantSearch: Sendable {
  struct Found: Sendable {
    /// With its variant.
    var key: ResourceKey
    var stored: StoredEntry
  }

  /// The answer to the request; of several, which a store written by another version may have, the newest.
  var answer: Found?
  /// The first of the answers under the key, when that is for other requests.
  var other: Found?

  /// One read when the resource does not vary, four at most.
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
