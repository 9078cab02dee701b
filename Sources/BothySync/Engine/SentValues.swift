import BothyStore
import Synchronization

/// What saves that go to the server first have sent of values that the app may hold on to, as long as the process runs:
/// the next save of such a value is a change of what was sent, and not of the row that the value was read from.
///
/// Where no answer came, the same operation is sent again before it, which the server makes once.
final class SentValues: Sendable {
  struct Sent: Sendable {
    var change: OnlineChange
    /// What was sent, where no answer came.
    var operation: SyncOperation?
    /// What the server made of it.
    var answer: ServerRecord?
    var decided: Decided?
    /// Whether the app knows the answer: then each field of a value without a mark is meant as it is.
    var isTold = false
  }

  private struct State {
    var values: [RecordID: (sent: Sent, number: Int)] = [:]
    var nextNumber = 0
  }

  private let state = Mutex(State())
  /// The most that are remembered; each may be as large as a record.
  private static let limit = 16

  /// The smallest id that the server must not forget the outcome of, `queued` included; nil where all are answered.
  func oldest(and queued: String?) -> String? {
    let open = state.withLock { state in
      state.values.values.compactMap { $0.sent.answer == nil ? $0.sent.operation?.id : nil }
    }
    return (open + [queued].compactMap(\.self)).min()
  }

  func note(_ record: RecordID, _ sent: Sent) {
    state.withLock { state in
      state.nextNumber += 1
      state.values[record] = (sent, state.nextNumber)
      guard state.values.count > Self.limit else { return }
      // Of those that were answered the oldest goes first.
      let first = state.values.min {
        ($0.value.sent.answer == nil ? 1 : 0, $0.value.number)
          < ($1.value.sent.answer == nil ? 1 : 0, $1.value.number)
      }
      if let first { state.values[first.key] = nil }
    }
  }

  /// What became of a save, by the revision of its entry.
  struct Decided: Sendable {
    var revision: Int64
    var outcome: SaveOutcome

    init(_ revision: Int64, _ outcome: SaveOutcome) { (self.revision, self.outcome) = (revision, outcome) }
  }

  /// Notes what became of what was noted of a record.
  func decide(_ record: RecordID, _ decided: Decided, _ answer: ServerRecord?) {
    state.withLock { state in
      state.values[record]?.sent.decided = decided
      state.values[record]?.sent.answer = answer
    }
  }

  /// What became of a save, where it was decided in this process.
  func outcome(of record: RecordID, _ revision: Int64) -> SaveOutcome? {
    state.withLock { state in
      state.values[record]?.sent.decided.flatMap { $0.revision == revision ? $0.outcome : nil }
    }
  }

  /// The app hears what became of a save. One that gave way is remembered no longer.
  func tell(_ record: RecordID) {
    state.withLock { state in
      if state.values[record]?.sent.answer == nil {
        state.values[record] = nil
      } else {
        state.values[record]?.sent.isTold = true
      }
    }
  }

  func forget(_ record: RecordID) { state.withLock { $0.values[record] = nil } }

  func last(of record: RecordID) -> Sent? { state.withLock { $0.values[record]?.sent } }
}
