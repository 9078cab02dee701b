import BothyStore
import Synchronization

extension SyncedStore {
  /// The sync status. One scan of the outbox, for the numbers of pending and rejected records.
  public var status: SyncStatus {
    engine.status.counting(try? store.read { try OutboxQueue.counts(in: $0) })
  }

  /// The present status, then each later one. A slow reader skips values.
  ///
  /// Follows the engine, and the numbers of pending and rejected records. Costs a scan of the outbox at the beginning, and
  /// one after commits that change records; commits in quick succession share one. Ends when the store is closed.
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
        group.addTask {
          do { for try await found in counts { latest.set(found) } } catch { latest.countingFailed() }
        }
      }
      continuation.finish()
    }
    continuation.onTermination = { _ in task.cancel() }
    return stream
  }

  private var outboxCounts: LiveValues<Outbox.Counts> {
    store.observe(.outbox, fetch: { try OutboxQueue.counts(in: $0) })
  }

  /// The report of each sync that ends from now on, and of each server-first save, in their order.
  ///
  /// A reader that lags behind gets all of them. Of one that lags by more than 100 reports, or by reports about more
  /// than 10,000 records, the oldest are left out, and `SyncReport.missed` of the next says how many.
  public var reports: AsyncStream<SyncReport> {
    let reader = engine.reports.reader()
    return AsyncStream { await reader.next()?.report }
  }
}

extension SyncStatus {
  /// Returns the status with the numbers of an outbox, or with its own if there are none.
  fileprivate func counting(_ counts: Outbox.Counts?) -> SyncStatus {
    guard let counts else { return self }
    var status = self
    (status.pendingCount, status.rejectedCount) = (counts.total, counts.inbox)
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
