/// Names a decoded value in memory: the resource, and what it was decoded to.
struct DecodedKey: Hashable, Sendable {
  var resource: ResourceKey
  var type: String
}

/// A value that was decoded from one version of a resource's bytes.
struct DecodedValue: Sendable {
  var value: any Sendable
  /// The entry whose bytes it was decoded from, or one that was confirmed to have the same.
  var stored: StoredEntry
}
