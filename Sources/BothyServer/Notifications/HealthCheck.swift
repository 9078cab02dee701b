import BothyStore
import BothySyncService
import Synchronization

/// Checks within a bounded time that the database responds.
///
/// Callers share one check. If it hangs, no caller waits for longer than the limit, and no second check starts behind
/// it.
final class HealthCheck: Sendable {
  private let storage: any ServerStorage
  private let limit: Duration
  private let state = Mutex(State())

  private struct State {
    var isLooking = false
    var waiting: [Int: CheckedContinuation<HTTPFailure?, Never>] = [:]
    var number = 0
  }

  init(_ storage: any ServerStorage, limit: Duration) {
    self.storage = storage
    self.limit = limit
  }

  /// Returns the reason why the database can't be used, in words for the public, or `nil` if it can.
  func problem() async -> HTTPFailure? {
    await withCheckedContinuation { continuation in
      let (number, isFirst) = state.withLock { state in
        state.number += 1
        state.waiting[state.number] = continuation
        defer { state.isLooking = true }
        return (state.number, !state.isLooking)
      }
      if isFirst { Task { await look() } }
      Task {
        try? await Task.sleep(for: limit)  // this task is never cancelled
        let late = state.withLock { $0.waiting.removeValue(forKey: number) }
        late?.resume(returning: .unavailable(StorageUnavailable.Reason.unreachable.rawValue))
      }
    }
  }

  private func look() async {
    var problem: HTTPFailure?
    do { try await storage.check() } catch let error as StorageUnavailable {
      problem = .unavailable(error.reason.rawValue)
    } catch let error as BothyError where [.diskFull, .newerFile].contains(error.code) {
      problem = HTTPFailure(error)
    } catch {  // an open address doesn't reveal the reason
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
