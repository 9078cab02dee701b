import Synchronization

/// One caller's part of a transaction that several callers share.
package struct JoinedWrite: Sendable {
  package let space: String
  /// Does the caller's work and returns a closure that answers the caller, to call after the commit.
  package let work: @Sendable (any ServerTransaction) throws -> @Sendable () -> Void
  /// Answers the caller that nothing was written.
  package let fail: @Sendable (any Error) -> Void
  /// The time since which the caller waits.
  package let added = ContinuousClock.now

  /// Adds the work by `add` and waits for its answer.
  package static func result<Result: Sendable>(
    space: String, of body: @escaping @Sendable (any ServerTransaction) throws -> Result,
    adding add: (JoinedWrite) -> Void
  ) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      add(
        JoinedWrite(
          space: space,
          work: { transaction in
            let result = try body(transaction)
            return { continuation.resume(returning: result) }
          }, fail: { continuation.resume(throwing: $0) }))
    }
  }
}

/// Group commit: writes of a queue that arrive during a commit wait together and share the next commit.
///
/// A queue covers the data of one writer at a time: a file of SQLite, or a space in PostgreSQL.
package final class WriteQueues: Sendable {
  /// The most writes in one transaction. The last of them waits for the work of all.
  private let limit: Int
  /// The waiting writes of the active queues, by the bytes of their names. A queue that isn't in it is idle.
  private let waiting = Mutex<[[UInt8]: [JoinedWrite]]>([:])

  package init(limit: Int = 32) { self.limit = max(1, limit) }

  /// Adds a write. Returns true if the queue was idle, so that the caller must call `take`.
  package func add(_ write: JoinedWrite, to lane: String) -> Bool {
    let lane = Array(lane.utf8)
    return waiting.withLock { waiting in
      let wasIdle = waiting[lane] == nil
      waiting[lane, default: []].append(write)
      return wasIdle
    }
  }

  /// Returns the writes of the queue's next transaction. An empty result ends the queue's work. The caller calls again
  /// when they are done.
  package func take(from lane: String) -> [JoinedWrite] {
    let lane = Array(lane.utf8)
    return waiting.withLock { waiting in
      let writes = waiting[lane] ?? []
      if writes.isEmpty {
        waiting[lane] = nil
        return []
      }
      waiting[lane] = Array(writes.dropFirst(limit))
      return Array(writes.prefix(limit))
    }
  }

  /// Returns further waiting writes for a transaction that has `count` of them, at most as many as it has room for. The
  /// queue stays active.
  package func takeMore(from lane: String, besides count: Int) -> [JoinedWrite] {
    let lane = Array(lane.utf8)
    return waiting.withLock { waiting in
      let more = (waiting[lane] ?? []).prefix(max(0, limit - count))
      if !more.isEmpty { waiting[lane]?.removeFirst(more.count) }
      return Array(more)
    }
  }
}
