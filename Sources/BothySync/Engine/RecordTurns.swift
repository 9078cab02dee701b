import BothyStore
import Synchronization

/// Has those who write one record to the server first do it one after the other, in the order they came.
final class RecordTurns: Sendable {
  private struct Turn {
    var gate = Gate()
    var users = 0
  }

  private let turns = Mutex<[RecordID: Turn]>([:])

  /// Runs `body` when all who came before are done. Throws `CancellationError` when the task is cancelled before.
  func inTurn<Result: Sendable>(
    of record: RecordID, _ body: () async throws -> Result
  ) async throws -> Result {
    let gate = turns.withLock { turns in
      turns[record, default: Turn()].users += 1
      return turns[record, default: Turn()].gate
    }
    defer {
      turns.withLock { turns in
        turns[record]?.users -= 1
        if turns[record]?.users == 0 { turns[record] = nil }
      }
    }
    return try await gate.withGate { try await body() }
  }
}
