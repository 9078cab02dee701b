extension ResourceCache {
  /// The urgency of a load. All readers of a resource share one request, which has their highest priority.
  ///
  /// It orders the requests that wait for a connection. A request that is running isn't interrupted by a more urgent one.
  public enum Priority: Comparable, Hashable, Sendable, CaseIterable {
    /// For resources without a waiting reader. It runs only after all other work.
    ///
    /// It never takes the last free connection, unless the source allows a single one to the host.
    case prefetch
    /// For needs that are not urgent, such as a background refresh or a region for later.
    case background
    /// For readers that wait. The default of reads.
    case normal
    /// For resources on the screen.
    ///
    /// Under `ReadPolicy.localElseRemote` a usable stale copy is returned at once and refreshed in the background. Any
    /// copy of a map's tile is usable, whatever its server and `staleUse` say, unless the read itself forbids it.
    case visible
    /// For the resource that the user looks at, before everything else. Stale copies are used as for `visible`.
    case urgent

    /// True for prefetching, which waits for all other work.
    var isPrefetch: Bool { self < .background }
  }
}
