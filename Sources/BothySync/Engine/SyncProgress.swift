/// How far a running sync is.
public struct SyncProgress: Sendable, Hashable {
  /// Operations that the server has acknowledged so far.
  public var pushed: Int
  /// Changes of others applied here so far.
  public var pulled: Int
  /// Round trips so far, those for blobs included.
  public var requests: Int
  /// Bytes of blobs that the server has taken.
  public var uploadedBytes: Int64 = 0
  /// Bytes that it still lacks of the blobs known so far: may grow while the sync finds more.
  public var bytesToUpload: Int64 = 0
}
