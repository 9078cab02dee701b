import Synchronization

/// The end of a search: by its time, or because the task that wants it is cancelled.
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

  /// Whether the search is to stop.
  package var isOver: Bool { isCancelled || ContinuousClock.now >= end }
  private var isCancelled: Bool { state.withLock { $0.isCancelled } }

  /// Throws when the search is to stop: for ledgers that work on the rows themselves.
  package func check() throws { if isOver { throw CancellationError() } }

  /// What stops the statement under way, called from another thread when the task is cancelled; nil when there is none.
  package func setOnCancel(_ action: (@Sendable () -> Void)?) {
    let isLate = state.withLock { state in
      state.onCancel = action
      return state.isCancelled
    }
    if isLate { action?() }
  }

  /// What is left of the time, at least a millisecond.
  package var left: Duration { max(.milliseconds(1), end - .now) }

  /// Runs a search, and says in the ledger's words why it was stopped.
  package func ending<Result: Sendable>(
    _ body: () async throws -> Result, isInterruption: (any Error) -> Bool
  ) async throws -> Result {
    try await withTaskCancellationHandler {
      do {
        try Task.checkCancellation()
        return try await body()
      } catch is Gate.Crowded {
        throw LedgerUnavailable(.busy, "Too many queries wait.")
      } catch  where isInterruption(error) || error is CancellationError {
        if isCancelled { throw CancellationError() }
        throw AuthorityError(
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
