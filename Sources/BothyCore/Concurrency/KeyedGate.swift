import Synchronization

/// A gate for each key: tasks of one key run one after the other, in the order of their calls. Holds no state for a key
/// that isn't in use.
package final class KeyedGate<Key: Hashable & Sendable>: Sendable {
  private struct Line {
    var gate = Gate()
    var users = 0
  }

  private let lines = Mutex<[Key: Line]>([:])

  package init() {}

  /// Runs `body` after the earlier calls with its key. Throws `CancellationError` if the task is cancelled before
  /// `body` begins.
  package func withGate<Result: Sendable>(of key: Key, _ body: () async throws -> Result) async throws
    -> Result
  {
    let gate = lines.withLock { lines in
      lines[key, default: Line()].users += 1
      return lines[key, default: Line()].gate
    }
    defer {
      lines.withLock { lines in
        lines[key]?.users -= 1
        if lines[key]?.users == 0 { lines[key] = nil }
      }
    }
    return try await gate.withGate { try await body() }
  }
}
