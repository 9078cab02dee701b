import Synchronization

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

  /// Returns the number of writes that wait for a next transaction.
  package func count(in lane: String) -> Int { waiting.withLock { $0[Array(lane.utf8)]?.count ?? 0 } }

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
