import BothyStore
import Synchronization

/// The records that an online write is on its way for. Pushes leave them out until it is answered: what is edited
/// meanwhile goes on top of the answer, and not against it.
final class OnlineRecords: Sendable {
  private struct Write {
    var record: RecordID
    var waiters: [AsyncStream<Void>.Continuation] = []
  }

  private struct State {
    var writes: [Int: Write] = [:]
    var nextNumber = 0
  }

  private let state = Mutex(State())

  /// All of them.
  var current: Set<RecordID> { state.withLock { Set($0.writes.values.map(\.record)) } }

  /// Counts a record among them for as long as `body` runs, however it ends.
  func during<Result>(_ record: RecordID, _ body: () async throws -> Result) async rethrows -> Result {
    let number = state.withLock { state in
      state.nextNumber += 1
      state.writes[state.nextNumber] = Write(record: record)
      return state.nextNumber
    }
    defer {
      let ended = state.withLock { $0.writes.removeValue(forKey: number) }
      for waiter in ended?.waiters ?? [] { waiter.finish() }
    }
    return try await body()
  }

  /// Waits until no write is on its way for the record, or the task is cancelled.
  func rest(_ record: RecordID) async {
    while !Task.isCancelled, let end = end(of: record) { for await _ in end {} }
  }

  /// Ends with a write that is on its way for the record; nil where none is.
  private func end(of record: RecordID) -> AsyncStream<Void>? {
    state.withLock { state in
      guard let number = state.writes.first(where: { $0.value.record == record })?.key else { return nil }
      let (end, waiter) = AsyncStream<Void>.makeStream()
      state.writes[number]?.waiters.append(waiter)
      return end
    }
  }
}
