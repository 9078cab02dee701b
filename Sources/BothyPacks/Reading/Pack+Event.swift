extension Pack {
  /// An event for a file of a pack.
  package enum Event: Sendable, Hashable {
    /// A file was opened: the index with the pack, a shard at its first use.
    case opened(file: String)
    /// A file was closed, because another needed its place or the pack was closed.
    case closed(file: String)
  }
}
