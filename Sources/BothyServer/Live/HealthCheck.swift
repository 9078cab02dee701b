import BothyStore
import BothySyncService
import Synchronization

/// Whether the database answers, said within a bounded time.
///
/// Callers share one look at the database: one that hangs is waited for by nobody for longer than the bound, and no
/// second look is begun behind it.
final class HealthCheck: Sendable {
  private let ledger: any Ledger
  private let limit: Duration
  private let state = Mutex(State())

  private struct State {
    var isLooking = false
    var waiting: [Int: CheckedContinuation<ServerProblem?, Never>] = [:]
    var number = 0
  }

  init(_ ledger: any Ledger, limit: Duration) {
    self.ledger = ledger
    self.limit = limit
  }

  /// Why the database cannot be used, in words for everybody; nil when it can.
  func problem() async -> ServerProblem? {
    await withCheckedContinuation { continuation in
      let (number, isFirst) = state.withLock { state in
        state.number += 1
        state.waiting[state.number] = continuation
        defer { state.isLooking = true }
        return (state.number, !state.isLooking)
      }
      if isFirst { Task { await look() } }
      Task {
        try? await Task.sleep(for: limit)  // nobody cancels it
        let late = state.withLock { $0.waiting.removeValue(forKey: number) }
        late?.resume(returning: .unavailable(LedgerUnavailable.Reason.unreachable.rawValue))
      }
    }
  }

  private func look() async {
    var problem: ServerProblem?
    do { try await ledger.check() } catch let error as LedgerUnavailable {
      problem = .unavailable(error.reason.rawValue)
    } catch let error as StoreError where error.code == .diskFull {
      problem = .diskFull
    } catch {  // why is no business of an open address
      problem = .unavailable("The database cannot be read.")
    }
    let waiting = state.withLock { state in
      state.isLooking = false
      defer { state.waiting = [:] }
      return state.waiting.values
    }
    for continuation in waiting { continuation.resume(returning: problem) }
  }
}
