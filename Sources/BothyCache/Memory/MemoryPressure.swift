/// The urgency with which the system or the app needs memory.
package enum MemoryPressure: Sendable, Hashable, CaseIterable, Comparable {
  /// The app reduces its caches while it does something large. Half of the limits stays.
  case elevated
  /// The app is not on the screen. A tenth of the limits stays.
  case background
  /// The system is short of memory. Memory is emptied, and the disk keeps its entries.
  case warning

  /// The part of its limits that the memory tier keeps.
  package var share: Double {
    switch self {
    case .elevated: 0.5
    case .background: 0.1
    case .warning: 0
    }
  }
}

/// A source of reports of memory pressure, from the system or from the app.
package struct MemoryPressureSource: Sendable {
  let start: @Sendable (_ report: @escaping @Sendable (MemoryPressure) -> Void) -> any Sendable

  /// Creates a source of reports.
  /// - Parameter start: begins to report. The cache keeps the returned value as long as it exists.
  package init(
    _ start: @escaping @Sendable (_ report: @escaping @Sendable (MemoryPressure) -> Void) -> any Sendable
  ) {
    self.start = start
  }

  /// A source without reports. The app calls `ResourceCache.releaseMemory`.
  package static let none = MemoryPressureSource { _ in () }
}
