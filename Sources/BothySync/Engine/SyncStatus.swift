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
  /// The network, as the monitor given to `run()` last told of it.
  public var network: NetworkState = .unknown
  /// Why the last sync did not run to its end; nil if it did.
  public var lastProblem: SkipReason?
  /// When the last sync ran to its end, in milliseconds since 1970.
  public var lastCompleted: Int64?

  public init() {}

  public var reachability: NetworkStatus { network.status }
  /// The scopes that are being synced.
  public internal(set) var syncing: [PullScope] = []

  /// Whether a container, or a part of it, is being synced.
  public func isSyncing(_ container: String) -> Bool {
    syncing.contains { $0.overlaps(PullScope(container: container, includesChildren: true)) }
  }

  public var isSyncing: Bool { if case .syncing = phase { true } else { false } }
}
