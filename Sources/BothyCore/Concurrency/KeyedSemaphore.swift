import Synchronization

/// A semaphore for each key: tasks of one key run one after the other, in the order of their calls. Holds no state for a
/// key that isn't in use.
package final class KeyedSemaphore<Key: Hashable & Sendable>: Sendable {
  private struct Line {
    var semaphore = AsyncSemaphore()
    var users = 0
  }

  private let lines = Mutex<[Key: Line]>([:])

  package init() {}

  /// Runs `body` after the earlier calls with its key. Throws `CancellationError` if the task is cancelled before
  /// `body` begins.
  package func withPermit<Result: Sendable>(of key: Key, _ body: () async throws -> Result) async throws
    -> Result
  {
    let semaphore = lines.withLock { lines in
      lines[key, default: Line()].users += 1
      return lines[key, default: Line()].semaphore
    }
    defer {
      lines.withLock { lines in
        lines[key]?.users -= 1
        if lines[key]?.users == 0 { lines[key] = nil }
      }
    }
    return try await semaphore.withPermit { try await body() }
  }
}
