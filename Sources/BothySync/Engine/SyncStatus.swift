/// Where syncing stands, for a screen to show. One value; nothing in it changes behind your back.
public struct SyncStatus: Sendable, Hashable {
  /// What syncing is doing.
  public enum Phase: Sendable, Hashable {
    /// `run()` is not running; syncs happen when asked for.
    case stopped
    /// `run()` waits for something to do.
    case idle
    /// A sync is running, and has come so far.
    case syncing(SyncProgress)
    /// The last try failed; the next comes by itself.
    case waiting(attempt: Int)
    /// `run()` waits because syncs may not run now: `lastProblem` says why.
    case paused
  }

  /// What is going on now.
  public var phase: Phase = .stopped
  /// The network, as the monitor given to `run()` last told of it.
  public var network: NetworkState = .unknown
  /// Why the last sync did not run to its end; nil if it did.
  public var lastProblem: SkipReason?
  /// When the last sync ran to its end, in milliseconds since 1970.
  public var lastCompleted: Int64?

  /// Stopped, with nothing known: what a store begins with, and previews of screens.
  public init() {}

  /// Whether there is a network, as the monitor last told; `.unknown` without a monitor.
  public var reachability: NetworkStatus { network.status }
  /// The scopes that are being synced.
  public internal(set) var syncing: [PullScope] = []

  /// Whether a container, or a part of it, is being synced.
  public func isSyncing(_ container: String) -> Bool {
    syncing.contains { $0.overlaps(PullScope(container: container, includesChildren: true)) }
  }

  /// Whether a sync is running.
  public var isSyncing: Bool { if case .syncing = phase { true } else { false } }
}
