public import Foundation

/// The status of syncing, for a screen to show. It is a value, so it doesn't change after it is read.
public struct SyncStatus: Sendable, Hashable {
  /// A phase of syncing.
  public enum Phase: Sendable, Hashable {
    /// `run()` is not running. Syncs run on request only.
    case stopped
    /// `run()` waits for something to do.
    case idle
    /// A sync is running, with this progress.
    case syncing(Progress)
    /// The last try failed, and the next one begins by itself.
    case waiting(attempt: Int)
    /// `run()` waits because syncs may not run now. `obstacle` has the reason.
    case paused
  }

  /// The present phase.
  public var phase: Phase = .stopped
  /// The network, as last reported by the monitor that was given to `run()`.
  public var network: NetworkState = .unknown
  /// The number of records with changes that the server doesn't have yet, drafts and rejected ones included.
  public var pendingCount = 0
  /// The number of these that the server has rejected.
  public var rejectedCount = 0
  /// The time when a sync of this process last ran to its end, or `nil`.
  public var lastSync: Date?
  /// The reason why the last sync did not run to its end, with the server's words.
  package var lastStop: SyncStop?

  /// The reason why the last sync did not run to its end; `nil` if it did.
  public var obstacle: SyncObstacle? { lastStop?.obstacle }
  /// The obstacle as a sentence for people; `nil` if the last sync ran to its end.
  public var message: String? { lastStop?.sentence }

  /// Makes a stopped status of which nothing is known. Stores begin with it, and previews can use it.
  package init() {}

  /// The presence of a network, as last reported by the monitor; `.unknown` without a monitor.
  package var reachability: NetworkStatus { network.status }
  /// The scopes that are being synced.
  package internal(set) var syncing: [SyncScope] = []

  /// Returns true if a container, or a part of it, is being synced.
  package func isSyncing(_ container: String) -> Bool {
    syncing.contains { $0.overlaps(SyncScope(container: container, includesChildren: true)) }
  }

  /// True if a sync is running.
  public var isSyncing: Bool { if case .syncing = phase { true } else { false } }
}

extension SyncStatus {
  /// The progress of a running sync.
  public struct Progress: Sendable, Hashable {
    /// The number of operations that the server has acknowledged so far.
    public var pushed: Int
    /// The number of changes of others that were applied here so far.
    public var pulled: Int
    /// The number of round trips so far, those for blobs included.
    package var requests: Int
    /// The number of bytes of blobs that the server has received.
    package var uploadedBytes: Int64 = 0
    /// The number of bytes that the server still lacks of the blobs known so far. It may grow while the sync finds more.
    public var bytesToUpload: Int64 = 0
  }
}
