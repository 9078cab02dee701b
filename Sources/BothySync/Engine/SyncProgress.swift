extension SyncStatus {
  /// The progress of a running sync.
  public struct Progress: Sendable, Hashable {
    /// The number of operations that the server has acknowledged so far.
    public var pushed: Int
    /// The number of changes of others that were applied here so far.
    public var pulled: Int
    /// The number of round trips so far, those for blobs included.
    package var requests: Int
    /// The number of bytes of blobs that the server has received.
    package var uploadedBytes: Int64 = 0
    /// The number of bytes that the server still lacks of the blobs known so far. It may grow while the sync finds more.
    public var bytesToUpload: Int64 = 0
  }
}
