/// The space of one entry on disk, and the values that decide on its eviction.
package struct StoredSize: Sendable, Hashable {
  /// The counted bytes: body, metadata, and the rounding of the disk.
  package var bytes: Int64
  /// True if a holder has pinned the entry.
  package var isPinned: Bool
  /// The time of the last use, in milliseconds since 1970.
  package var lastUsed: Int64
  /// Creates a size in a custom store.
  package init(bytes: Int64, isPinned: Bool, lastUsed: Int64) {
    self.bytes = bytes
    self.isPinned = isPinned
    self.lastUsed = lastUsed
  }
}
