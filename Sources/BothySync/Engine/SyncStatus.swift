/// Where syncing stands, for a screen to show. One value; nothing in it changes behind your back.
public struct SyncStatus: Sendable, Hashable {
  public enum Phase: Sendable, Hashable {
    /// `run()` is not running; syncs happen when asked for.
    case stopped
    case idle
    case syncing(SyncProgress)
    /// The last try failed; the next comes by itself.
    case waiting(attempt: Int)
    case paused
  }

  public var phase: Phase = .stopped
  public var reachability: NetworkStatus = .unknown
  /// Why the last sync did not run to its end; nil if it did.
  public var lastProblem: SkipReason?
  /// When the last sync ran to its end, in milliseconds since 1970.
  public var lastCompleted: Int64?

  public init() {}

  public var isSyncing: Bool { if case .syncing = phase { true } else { false } }
}

/// Whether the network is there, as far as is known.
public enum NetworkStatus: Int, Sendable, Hashable, CaseIterable {
  case unknown = -1
  case notReachable = 0
  case reachable = 1
}

/// The seam to whoever knows about the network.
public protocol ReachabilityMonitor: Sendable {
  /// The present status, then each different one. Ends when the monitor stops.
  func statuses() -> AsyncStream<NetworkStatus>
}
