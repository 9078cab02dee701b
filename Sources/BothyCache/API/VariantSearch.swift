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
  /// True if the answer is a pinned response to other fields, as the source has sent them before.
  private(set) var isEarlier = false
  /// The newest response to other requests.
  private var latest: Found?

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
        if found.isNewer(than: latest) { latest = found }
        if found.isNewer(than: similar), found.stored.answers(request) { similar = found }
      }
    }
    guard answer == nil, let similar else { return }
    answer = similar
    if similar.key.variant == 0 { other = nil }
  }

  /// Searches for the response to a read. Throws `BothyError.sourceConflict` if another source has the entries.
  ///
  /// An updated app may send other fields with each request of a source. A pinned response to the earlier ones then
  /// answers the reads that name no fields of their own.
  init(_ demand: ResourceCache.Demand, in store: any DiskCache.Store) throws {
    try self.init(demand.key, for: demand.varyingFields, in: store)
    if answer == nil, let latest, demand.options.fields.isEmpty, try store.isPinned(demand.key) {
      (answer, isEarlier) = (latest, true)
    }
    // After the search: the identity of another source is stored with its first entry.
    try demand.box.check(in: store)
  }
}

extension VariantSearch.Found {
  fileprivate func isNewer(than earlier: VariantSearch.Found?) -> Bool {
    earlier.map { $0.stored.entry.metadata.validatedAt < stored.entry.metadata.validatedAt } ?? true
  }
}
