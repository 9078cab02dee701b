/// The urgency of a load. All readers of a resource share one request, which has their highest priority.
public enum LoadPriority: Comparable, Hashable, Sendable, CaseIterable {
  /// For resources without a waiting reader. It runs only after all other work, and never takes the last free
  /// connection.
  case prefetch
  /// For needs that are not urgent, such as a background refresh or a region for later.
  case background
  /// For readers that wait. The default of reads.
  case normal
  /// For resources on the screen.
  case visible
  /// For the resource that the user looks at, before everything else.
  case urgent

  /// True for prefetching, which waits for all other work.
  var isPrefetch: Bool { self < .background }
}
