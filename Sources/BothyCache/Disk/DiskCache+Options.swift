extension DiskCache {
  /// The options of a store of entries on disk.
  package struct Options: Sendable {
    /// The limits of the store.
    package var limits: DiskCache.Limits
    /// The longest time that a write waits for another process's write.
    package var busyTimeout: Duration
    /// Called with damage, on the thread that found it. It must not call the store.
    package var onEvent: (@Sendable (DiskCache.Event) -> Void)?
    /// Returns the identity of the source with an id, or `nil` for an unknown one.
    ///
    /// Entries of a source are stored only if the id has none of another one.
    package var identity: (@Sendable (SourceID) -> UInt64?)?
    /// Called before each commit and each file in tests. True simulates a full disk.
    package var isDiskFull: (@Sendable () -> Bool)?
    /// Called before each transaction that takes over an earlier format in tests. True simulates the end of the process.
    package var isTakeoverStopped: (@Sendable () -> Bool)?

    /// Creates options. By default a write waits 5 s for another process, and damage isn't reported.
    package init(
      limits: DiskCache.Limits = DiskCache.Limits(), busyTimeout: Duration = .seconds(5),
      onEvent: (@Sendable (DiskCache.Event) -> Void)? = nil
    ) {
      self.limits = limits
      self.busyTimeout = busyTimeout
      self.onEvent = onEvent
    }
  }
}
