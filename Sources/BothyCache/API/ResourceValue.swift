/// A value and the bytes it was decoded from.
///
/// Both are of one response, also if a newer one has come since.
public struct ResourceValue<Value: Sendable>: Sendable {
  /// The decoded value, shared by all readers of these bytes.
  public let value: Value
  /// The bytes, with their origin and metadata. `resource.age` is in milliseconds.
  public let resource: CachedResource

  /// True if a request to the server isn't needed, because the entry is fresh.
  ///
  /// False means that the value may be outdated, and `resource.staleReason` says why it was returned.
  public var isFresh: Bool { resource.isFresh }
}
