/// The part of a blob that a server has.
public enum BlobHolding: Sendable, Hashable {
  /// The number of its first bytes; 0 if it has none.
  case part(Int64)
  /// All of it, with its checksum verified.
  case whole(size: Int64)
}
