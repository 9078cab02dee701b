extension ResourceCache {
  /// The progress of a load.
  ///
  /// It is reported for each piece of the body, and once for a reader that joins later.
  public struct Progress: Sendable, Hashable {
    /// The number of bytes of the body that have come, including those of an earlier, broken attempt.
    ///
    /// It falls if an attempt must begin from the start.
    public internal(set) var received: Int64
    /// The length of the whole body in bytes, or `nil` if the server did not report it.
    ///
    /// It is `nil` too for a body whose content coding was undone.
    public internal(set) var expected: Int64?

    package init(received: Int64, expected: Int64? = nil) {
      self.received = received
      self.expected = expected
    }
  }
}
