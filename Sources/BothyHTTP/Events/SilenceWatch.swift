import BothySync
import Synchronization

/// Ends an answer from which nothing comes any more: a connection can die without either end being told.
package enum SilenceWatch {
  private final class LastWord: Sendable {
    private let time = Mutex(ContinuousClock.now)
    var value: ContinuousClock.Instant { time.withLock { $0 } }
    func update() { time.withLock { $0 = .now } }
  }

  /// Runs `body`, which calls its argument whenever it hears something. Throws `RemoteError` `.unreachable` and
  /// cancels `body` when it has heard nothing for `limit`.
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
