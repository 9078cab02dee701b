/// How badly the system, or the app, wants memory back.
public enum MemoryPressure: Int, Sendable, Hashable, CaseIterable, Comparable {
  /// The app keeps less in hand while it does something large.
  case elevated
  /// The app is not on the screen.
  case background
  /// The system is short of memory.
  case warning

  public static func < (left: MemoryPressure, right: MemoryPressure) -> Bool {
    left.rawValue < right.rawValue
  }

  /// The part of its limits that the memory tier keeps.
  package var share: Double {
    switch self {
    case .elevated: 0.5
    case .background: 0.1
    case .warning: 0
    }
  }
}

/// Where a cache hears of memory pressure: the system, or whoever calls the report.
public struct MemoryPressureSource: Sendable {
  let start: @Sendable (_ report: @escaping @Sendable (MemoryPressure) -> Void) -> any Sendable

  /// - Parameter start: begins to report; what it returns is kept as long as the cache.
  public init(
    _ start: @escaping @Sendable (_ report: @escaping @Sendable (MemoryPressure) -> Void) -> any Sendable
  ) {
    self.start = start
  }

  /// Nobody reports; the app calls `ResourceCache.relieve`.
  public static let none = MemoryPressureSource { _ in () }
}
