import BothyStore
import Synchronization

/// The operations of saves that are kept nowhere and got no answer, as long as the process runs: the same save again is
/// the same operation, which the server makes once.
final class UnansweredWrites: Sendable {
  private let operations = Mutex<[RecordID: Operation]>([:])
  /// The most that are remembered; each may be as large as a record.
  private static let limit = 16

  /// The smallest id that the server must not forget the outcome of, `queued` included; nil where all are answered.
  func oldest(and queued: String?) -> String? {
    let open = operations.withLock { $0.values.map(\.id) }
    return (open + [queued].compactMap(\.self)).min()
  }

  func note(_ operation: Operation) {
    operations.withLock { known in
      known[operation.record] = operation
      guard known.count > Self.limit, let oldest = known.min(by: { $0.value.id < $1.value.id }) else {
        return
      }
      known[oldest.key] = nil
    }
  }

  func forget(_ record: RecordID) { operations.withLock { $0[record] = nil } }

  /// The operation with the id it was sent under before, if it was.
  func again(_ operation: Operation) -> Operation {
    guard let known = operations.withLock({ $0[operation.record] }) else { return operation }
    var same = operation
    same.id = known.id
    return same == known ? known : operation
  }
}
