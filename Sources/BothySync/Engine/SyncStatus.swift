import BothyStore
public import Foundation
import Synchronization

/// The status of syncing, for a screen to show. It is a value, so it doesn't change after it is read.
///
/// It concerns the syncs of this process. Pending changes are those of the file, whichever process wrote them.
///
/// ```swift
/// for await status in store.statuses {
///   if status.isSyncing { show("Syncing") } else { show(status.message ?? "\(status.pendingCount) changes wait") }
/// }
/// ```
public struct SyncStatus: Sendable, Hashable {
  /// A phase of syncing.
  package enum Phase: Sendable, Hashable {
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
  package var phase: Phase = .stopped
  /// The network, as last reported by the monitor that was given to `run()`.
  package var network: NetworkState = .unknown
  /// The number of records with changes that the server doesn't have yet, drafts and rejected ones included.
  ///
  /// Several changes of a record count once. 0 also if the file can't be read.
  public var pendingCount = 0
  /// The number of these that the server has rejected. `store.outbox.rejected()` has them, with those that wait
  /// for them.
  public var rejectedCount = 0
  /// The time when a sync of this process last ran to its end, or `nil` before the first.
  ///
  /// It is by the device's clock. `StoreMaintenance.syncHistory` also has the syncs of other processes and
  /// earlier launches.
  public var lastSync: Date?
  /// The reason why the last sync did not run to its end, with the server's words.
  package var lastStop: SyncStop?

  /// The reason why the last sync did not run to its end; `nil` if it did.
  ///
  /// Awaited saves count as syncs here. A sync that was not begun, because syncing is paused, counts too. A
  /// store whose file is paused has `paused` from the start.
  public var obstacle: SyncObstacle? { lastStop?.obstacle }
  /// The obstacle as a sentence for people; `nil` if the last sync ran to its end. It may have the server's
  /// words, in the server's language.
  public var message: String? { lastStop?.sentence }

  /// Makes a stopped status of which nothing is known, with which stores begin.
  package init() {}

  /// The scopes that are being synced.
  package internal(set) var syncing: [SyncScope] = []

  /// Returns true if a container, or a part of it, is being synced.
  package func isSyncing(_ container: String) -> Bool {
    syncing.contains { $0.overlaps(SyncScope(container: container, includesChildren: true)) }
  }

  /// True if a sync of this process is running. Awaited saves that run beside syncs don't count.
  public var isSyncing: Bool { progress != nil }

  /// The number of bytes of blobs that the server still lacks, as far as the running sync knows.
  ///
  /// It may grow while the sync finds more; 0 if none is running. `BlobStorage.backlog()` has the number at any
  /// time.
  public var bytesToUpload: Int64 { progress?.bytesToUpload ?? 0 }

  /// The progress of the running sync, or `nil` if none is running.
  package var progress: Progress? { if case .syncing(let progress) = phase { progress } else { nil } }
}

extension SyncStatus {
  /// The progress of a running sync.
  package struct Progress: Sendable, Hashable {
    /// The number of operations that the server has acknowledged so far.
    package var pushed = 0
    /// The number of changes of others that were applied here so far.
    package var pulled = 0
    /// The number of round trips so far, those for blobs included.
    package var requests = 0
    /// The number of bytes of blobs that the server has received.
    package var uploadedBytes: Int64 = 0
    /// The number of bytes that the server still lacks of the blobs known so far. It may grow while the sync finds more.
    package var bytesToUpload: Int64 = 0
  }
}

extension SyncStatus.Progress {
  /// Makes the progress of several syncs together. All of them know of the same blobs, so those aren't counted twice.
  init(of syncs: some Sequence<SyncStatus.Progress>) {
    for sync in syncs {
      pushed += sync.pushed
      pulled += sync.pulled
      requests += sync.requests
      uploadedBytes = uploadedBytes.addingClamped(sync.uploadedBytes)
      bytesToUpload = max(bytesToUpload, sync.bytesToUpload)
    }
  }
}

extension SyncedStore {
  /// The sync status. One scan of the outbox on the calling thread, for the numbers of pending and rejected
  /// records.
  ///
  /// If the file can't be read, these numbers are 0. For a screen use `statuses`, which doesn't block.
  public var status: SyncStatus {
    engine.status.counting(try? store.read { try OutboxQueue.counts(in: $0) })
  }

  /// The present status, then each later one. A slow reader skips values.
  ///
  /// Follows the engine, and the numbers of pending and rejected records. Costs a scan of the outbox at the
  /// beginning, and one after commits that change records; commits in quick succession share one. Each use
  /// makes a stream of its own. Ends when the store is closed or the reader's task is cancelled.
  public var statuses: AsyncStream<SyncStatus> {
    let (phases, counts) = (engine.statuses.values(startingWith: engine.status), outboxCounts)
    let (stream, continuation) = AsyncStream.makeStream(
      of: SyncStatus.self, bufferingPolicy: .bufferingNewest(1))
    let latest = LatestStatus(continuation)
    let task = Task {
      await withTaskGroup(of: Void.self) { group in
        group.addTask { [store] in
          for await phase in phases {
            latest.set(phase)
            // A sync that only removed entries of the outbox touched no record.
            guard !phase.isSyncing else { continue }
            if let counts = try? await store.read({ try OutboxQueue.counts(in: $0) }) { latest.set(counts) }
          }
        }
        group.addTask { [store] in
          do { for try await found in counts { latest.set(found) } } catch { latest.countingFailed() }
          // After an error the numbers stay unknown. This ends when the store is closed.
          for await _ in store.commits {}
        }
        await group.next()
        group.cancelAll()
      }
      continuation.finish()
    }
    continuation.onTermination = { _ in task.cancel() }
    return stream
  }

  private var outboxCounts: LiveValues<Outbox.Counts> {
    store.observe(.outbox, fetch: { try OutboxQueue.counts(in: $0) })
  }
}

extension SyncStatus {
  /// Returns the status with the numbers of an outbox, or with its own if there are none.
  fileprivate func counting(_ counts: Outbox.Counts?) -> SyncStatus {
    guard let counts else { return self }
    var status = self
    (status.pendingCount, status.rejectedCount) = (counts.total, counts.rejected)
    return status
  }
}

/// Joins the engine's status and the outbox's numbers, and delivers each different result.
private final class LatestStatus: Sendable {
  private struct State {
    var phase: SyncStatus?
    var counts: Outbox.Counts?
    /// True if the store can't be read, so that the numbers stay unknown.
    var isUncounted = false
    var delivered: SyncStatus?
  }

  private let state = Mutex(State())
  private let continuation: AsyncStream<SyncStatus>.Continuation

  init(_ continuation: AsyncStream<SyncStatus>.Continuation) { self.continuation = continuation }

  func set(_ phase: SyncStatus) { change { $0.phase = phase } }

  func set(_ counts: Outbox.Counts) { change { $0.counts = counts } }

  func countingFailed() { change { $0.isUncounted = true } }

  private func change(_ body: (inout State) -> Void) {
    state.withLock { state in
      body(&state)
      guard state.counts != nil || state.isUncounted, let status = state.phase?.counting(state.counts),
        status != state.delivered
      else { return }
      state.delivered = status
      // Yields under the lock, so that no earlier status is delivered after this one.
      continuation.yield(status)
    }
  }
}

extension AsyncStream where Element: Sendable {
  /// Returns a stream of a value of each element, without repetitions.
  func changes<Value: Sendable & Equatable>(
    of value: @escaping @Sendable (Element) -> Value
  ) -> AsyncStream<Value> {
    AsyncStream<Value> { continuation in
      let task = Task {
        var last: Value?
        for await value in map(value) where value != last {
          last = value
          continuation.yield(value)
        }
        continuation.finish()
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }
}
