/// One pin of a holder.
package struct StoredPin: Sendable, Hashable {
  /// The key, of variant 0, for all its variants.
  package var key: ResourceKey
  /// The name of the holder.
  package var holder: String
  /// The counted bytes of all variants of the key, or `nil` if none is stored.
  package var bytes: Int64?
  /// Creates a pin in a custom store.
  package init(key: ResourceKey, holder: String, bytes: Int64?) {
    self.key = key
    self.holder = holder
    self.bytes = bytes
  }
}
