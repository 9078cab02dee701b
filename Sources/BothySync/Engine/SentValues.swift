import BothyStore
import Synchronization

/// The values that online-first saves have sent and that the app may still hold, while the process runs. The next save
/// of such a value is a change of the sent one, and not of the row that the value was read from.
///
/// If no answer came, the file has the operation, see `OutboxQueue+Doubt`.
final class SentValues: Sendable {
  struct Sent: Sendable {
    var change: OnlineChange
    /// The server's version after the operation.
    var answer: ServerRecord?
    var decided: Decided?
    /// True if the app knows the answer. Each field of a value without a mark is then taken literally.
    var isReported = false

    /// True if the row shows the answer.
    var isShownHere: Bool { change.entry.awaited?.keeping == .here }
  }

  private struct State {
    var values: [RecordID: (sent: Sent, number: Int)] = [:]
    var nextNumber = 0
  }

  private let state = Mutex(State())
  /// The largest number of remembered values. Each may be as large as a record.
  private static let limit = 16

  func note(_ record: RecordID, _ sent: Sent) {
    state.withLock { state in
      state.nextNumber += 1
      state.values[record] = (sent, state.nextNumber)
      guard state.values.count > Self.limit else { return }
      // Values with an answer are dropped first, the oldest before the others.
      let first = state.values.min {
        ($0.value.sent.answer == nil ? 1 : 0, $0.value.number)
          < ($1.value.sent.answer == nil ? 1 : 0, $1.value.number)
      }
      if let first { state.values[first.key] = nil }
    }
  }

  /// The outcome of a save, by the revision of its entry.
  struct Decided: Sendable {
    var revision: Int64
    var outcome: SaveOutcome
  }

  /// Stores the outcome of the noted save of a record.
  func decide(_ record: RecordID, _ decided: Decided, _ answer: ServerRecord?) {
    state.withLock { state in
      state.values[record]?.sent.decided = decided
      state.values[record]?.sent.answer = answer
    }
  }

  /// Returns the outcome of a save that was decided in this process.
  func outcome(of record: RecordID, _ revision: Int64) -> SaveOutcome? {
    state.withLock { state in
      state.values[record]?.sent.decided.flatMap { $0.revision == revision ? $0.outcome : nil }
    }
  }

  /// Notes that the app knows the outcome of a save. A save without a version of the server is forgotten.
  func tell(_ record: RecordID) {
    state.withLock { state in
      if state.values[record]?.sent.answer == nil {
        state.values[record] = nil
      } else {
        state.values[record]?.sent.isReported = true
      }
    }
  }

  func forget(_ record: RecordID) { state.withLock { $0.values[record] = nil } }

  /// Returns the result of a save that was made while the file could not be written, with the version of the row. The
  /// next transaction marks the row with it, as `StaleRows` has the results of other saves.
  func left(_ record: RecordID) -> (version: String?, answer: ServerRecord)? {
    guard let last = last(of: record), last.decided == nil, let answer = last.answer, !answer.isDeleted
    else { return nil }
    return (last.change.before?.version, answer)
  }

  func last(of record: RecordID) -> Sent? { state.withLock { $0.values[record]?.sent } }
}
