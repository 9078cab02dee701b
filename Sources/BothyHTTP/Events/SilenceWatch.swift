import BothySync
import Synchronization

/// Ends a response that has become silent, because a connection can break without notice at either end.
package enum SilenceWatch {
  private final class LastWord: Sendable {
    private let time = Mutex(ContinuousClock.now)
    var value: ContinuousClock.Instant { time.withLock { $0 } }
    func update() { time.withLock { $0 = .now } }
  }

  /// Runs `body`, which calls its argument whenever bytes arrive.
  ///
  /// Throws `RemoteError` `.unreachable` and cancels `body` if nothing arrived for `limit`.
  package static func withLimit(
    _ limit: Duration, _ body: @escaping @Sendable (_ heard: @Sendable () -> Void) async throws -> Void
  ) async throws {
    let last = LastWord()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await body { last.update() } }
      group.addTask {
        while true {
          let deadline = last.value + limit
          try await Task.sleep(until: deadline, clock: .continuous)
          if last.value + limit <= .now {
            throw RemoteError(
              .unreachable, "The connection has been silent for \(limit). Try again.", code: "silent")
          }
        }
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }
}
