import Synchronization

/// The end of a search, by its time limit or because its task is cancelled.
package final class SearchWatch: Sendable {
  private let limit: Duration
  private let end: ContinuousClock.Instant
  private let state = Mutex(State())

  private struct State {
    var isCancelled = false
    var onCancel: (@Sendable () -> Void)?
  }

  package init(within limit: Duration) {
    self.limit = limit
    end = .now + limit
  }

  /// True if the search must stop.
  package var isOver: Bool { isCancelled || ContinuousClock.now >= end }
  private var isCancelled: Bool { state.withLock { $0.isCancelled } }

  /// Throws if the search must stop, for storages that process the rows themselves.
  package func check() throws { if isOver { throw CancellationError() } }

  /// Sets the closure that stops the running statement, or `nil` without one. Another thread calls it when the task is
  /// cancelled.
  package func setOnCancel(_ action: (@Sendable () -> Void)?) {
    let isLate = state.withLock { state in
      state.onCancel = action
      return state.isCancelled
    }
    if isLate { action?() }
  }

  /// The remaining time, at least a millisecond.
  package var left: Duration { max(.milliseconds(1), end - .now) }

  /// Runs a search, and throws the storage's error for its end.
  package func ending<Result: Sendable>(
    _ body: () async throws -> Result, isInterruption: (any Error) -> Bool
  ) async throws -> Result {
    try await withTaskCancellationHandler {
      do {
        try Task.checkCancellation()
        return try await body()
      } catch is AsyncSemaphore.Crowded {
        throw StorageUnavailable(.busy, "Too many queries wait.")
      } catch  where isInterruption(error) || error is CancellationError {
        if isCancelled { throw CancellationError() }
        throw SyncServiceError(
          .tooExpensive,
          "This took longer than the \(limit) that the server has for it. Ask for less at a time.")
      }
    } onCancel: {
      let action = state.withLock { state in
        state.isCancelled = true
        return state.onCancel
      }
      action?()
    }
  }
}
