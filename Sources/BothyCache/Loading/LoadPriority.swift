/// The urgency of a load. All readers of a resource share one request, which has their highest priority.
public struct LoadPriority: RawRepresentable, Comparable, Hashable, Sendable {
  public var rawValue: Int

  public init(rawValue: Int) { self.rawValue = rawValue }

  /// For resources without a waiting reader. It runs only after all other work, and never takes the last free
  /// connection.
  public static let prefetch = LoadPriority(rawValue: 0)
  /// For needs that are not urgent, such as a background refresh or a region for later.
  public static let background = LoadPriority(rawValue: 25)
  /// For readers that wait. The default of reads.
  public static let normal = LoadPriority(rawValue: 50)
  /// For resources on the screen.
  public static let visible = LoadPriority(rawValue: 75)
  /// For the resource that the user looks at, before everything else.
  public static let urgent = LoadPriority(rawValue: 100)

  public static func < (left: LoadPriority, right: LoadPriority) -> Bool { left.rawValue < right.rawValue }

  /// True for prefetching, which waits for all other work.
  var isPrefetch: Bool { self < .background }
}
