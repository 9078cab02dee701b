import BothyStore
import Synchronization

/// What saves that go to the server first have sent of values that the app may hold on to, as long as the process runs:
/// the next save of such a value is a change of what was sent, and not of the row that the value was read from.
///
/// Where no answer came, the same operation is sent again before it, which the server makes once.
final class SentValues: Sendable {
  struct Sent: Sendable {
    /// With the operation.
    var draft: OnlineDraft
    /// What the server made of it; nil where no answer came.
    var answer: ServerRecord?
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
      state.values.values.compactMap { $0.sent.answer == nil ? $0.sent.draft.sent?.id : nil }
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

  func forget(_ record: RecordID) { state.withLock { $0.values[record] = nil } }

  func last(of record: RecordID) -> Sent? { state.withLock { $0.values[record]?.sent } }
}
