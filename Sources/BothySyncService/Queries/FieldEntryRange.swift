/// Consecutive keys of an index.
public struct FieldEntryRange: Sendable, Hashable {
  /// The number of the index in the space.
  public var index: Int64
  /// The first key.
  public var lower: [UInt8]
  /// The key after the last one.
  public var upper: [UInt8]

  /// Makes a range, for the server and its storage.
  public init(index: Int64, from lower: [UInt8], before upper: [UInt8]) {
    self.index = index
    self.lower = lower
    self.upper = upper
  }
}
