import BothyStore
import Synchronization

/// The state of the primary that a standby must contain to answer a read.
struct PrimaryMark: Sendable, Hashable {
  /// The end of the durable log, in bytes.
  var log: Int64
  var timeline: Int64
  /// The space's epoch and head, as the primary's readers see them.
  var epoch = ""
  var head: Int64 = 0
}

/// Reads marks from the primary, on one connection. Calls that wait at one time share a round trip.
final class PrimaryMarks: Sendable {
  private let pool: WorkerPool
  private let waiting = Mutex<[Call]>([])

  private struct Call {
    var space: String
    var continuation: CheckedContinuation<PrimaryMark, any Error>
  }

  init(_ settings: SessionSettings) { pool = WorkerPool(settings, limit: 1) }

  func close() { pool.close() }

  /// Returns a mark that is read after the start of this call, so it has every write that was answered before. Throws
  /// like `Worker.attempt`, after two seconds at about the latest.
  func mark(of space: String) async throws -> PrimaryMark {
    try await withCheckedThrowingContinuation { continuation in
      let isFirst = waiting.withLock { waiting in
        waiting.append(Call(space: space, continuation: continuation))
        return waiting.count == 1
      }
      if isFirst { pool.add { self.answer($0) } }
    }
  }

  /// Returns the number that all copies of the primary share. Throws like `mark(of:)`.
  func cluster() async throws -> Int64 {
    try await pool.run(CallTime(limit: .seconds(2), isRepeated: false)) {
      try $0.run(PostgresStatement(ReplicaSQL.cluster)).int(0, 0)
    }
  }

  private func answer(_ worker: Worker) {
    let calls = waiting.withLock { waiting in
      defer { waiting = [] }
      return waiting
    }
    do {
      let marks = try worker.attempt(CallTime(limit: .seconds(2), isRepeated: false)) {
        try Self.marks(of: Set(calls.map(\.space)), $0)
      }
      for call in calls { call.continuation.resume(returning: marks.spaces[call.space] ?? marks.none) }
    } catch {
      for call in calls { call.continuation.resume(throwing: error) }
    }
  }

  /// Returns the marks of spaces, and that of a space without writes.
  private static func marks(
    of spaces: Set<String>, _ connection: PostgresConnection
  ) throws -> (none: PrimaryMark, spaces: [String: PrimaryMark]) {
    var heads = PostgresStatement(ReplicaSQL.heads)
    heads.bind(Array(spaces))
    // The end is read after the heads, so it is behind each of them.
    let found = try connection.run([heads, PostgresStatement(ReplicaSQL.end)])
    let (rows, end) = (found[0], found[1])
    let none = PrimaryMark(log: end.int(0, 0), timeline: end.int(0, 1))
    var marks: [String: PrimaryMark] = [:]
    for row in 0..<rows.count {
      var mark = none
      (mark.epoch, mark.head) = (rows.text(row, 1) ?? "", rows.int(row, 2))
      marks[rows.text(row, 0) ?? ""] = mark
    }
    return (none, marks)
  }
}
