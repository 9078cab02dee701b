/// The result of an update.
///
/// A failed update has none: `Resource.updateIfNeeded` throws.
public enum ResourceUpdate: String, Sendable, Hashable {
  /// The stored value is fresh, so the cache sent no request.
  case notNeeded
  /// The server confirmed the stored value, with a 304 or with equal bytes. It is fresh again.
  case confirmed
  /// The server sent other bytes, or said that the resource no longer exists.
  ///
  /// They are stored, unless the server forbids it or the disk has no room. They are in memory in the latter case.
  case changed
}
