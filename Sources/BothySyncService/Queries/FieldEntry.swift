/// A record's entry in an index.
public struct FieldEntry: Sendable, Hashable {
  /// The number of the index in the space.
  public var index: Int64
  /// The key, which sorts by its bytes.
  ///
  /// Storages compare keys without reading them.
  public var key: [UInt8]
  /// The record's id.
  public var id: String

  /// Makes an entry, for the server and its storage.
  public init(index: Int64, key: [UInt8], id: String) {
    self.index = index
    self.key = key
    self.id = id
  }
}
