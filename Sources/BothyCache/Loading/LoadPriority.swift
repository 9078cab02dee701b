/// How urgently a resource is wanted. Whoever waits for the same resource shares one request, which has the highest
/// priority of all of them.
public struct LoadPriority: RawRepresentable, Comparable, Hashable, Sendable {
  public var rawValue: Int

  public init(rawValue: Int) { self.rawValue = rawValue }

  /// Nobody waits for it yet: it goes only where nothing else wants to, and never takes the last free connection.
  public static let prefetch = LoadPriority(rawValue: 0)
  /// Wanted, but not soon: a refresh behind what is shown, a region for later.
  public static let background = LoadPriority(rawValue: 25)
  /// Somebody waits for it; that of reads that say nothing else.
  public static let normal = LoadPriority(rawValue: 50)
  /// On the screen.
  public static let visible = LoadPriority(rawValue: 75)
  /// What is looked at, before everything else.
  public static let urgent = LoadPriority(rawValue: 100)

  public static func < (left: LoadPriority, right: LoadPriority) -> Bool { left.rawValue < right.rawValue }

  /// Whether this is work for later that stands back behind everything else.
  var isPrefetch: Bool { self < .background }
}
