import BothyStore

/// What the pages of one answer may still bring: changes, and bytes of records.
struct PageBudget {
  private(set) var changes: Int
  private(set) var bytes: Int
  /// Whether a page was made: the first of an answer always brings something.
  private var isBegun = false

  init(changes: Int, bytes: Int) {
    self.changes = max(1, changes)
    self.bytes = max(1, bytes)
  }

  /// Whether nothing more goes into the answer.
  var isSpent: Bool { isBegun && (changes == 0 || bytes == 0) }

  mutating func spend(_ page: SyncResponse.Page) {
    isBegun = true
    changes = max(0, changes - page.changes.count - page.outOfScope.count)
    bytes = max(0, bytes - page.changes.reduce(0) { $0 + $1.fields.bytes.count })
  }

  /// Whether the records take all of the bytes: others may follow that the ledger did not give.
  func isReached(by records: [LedgerRecord]) -> Bool {
    records.reduce(0) { $0 + $1.record.fields.bytes.count } >= bytes
  }
}

/// The bytes of records that the outcomes of one answer may still bring.
struct OutcomeBudget {
  private var left: Int
  /// The operation whose record was the last to fit.
  private var last: String?

  init(bytes: Int) { left = max(1, bytes) }

  /// The verdict, or, where its record does not fit any more and nothing was changed, that the operation waits: the
  /// device sends it again.
  mutating func bounded(_ verdict: Outcome.Verdict, of operation: String) -> Outcome.Verdict {
    switch verdict {
    case .conflict(let current?):
      if left == 0, let last { return .waiting(on: last) }
      spend(current, operation)
    case .applied(_, _, let record?), .duplicate(_, _, let record?): spend(record, operation)
    default: break
    }
    return verdict
  }

  private mutating func spend(_ record: ServerRecord, _ operation: String) {
    left = max(0, left - record.fields.bytes.count)
    last = operation
  }
}

extension Outcome.Verdict {
  /// The same of a repetition, without what the record is.
  var withoutRecord: Outcome.Verdict {
    switch self {
    case .applied(let version, let modified, _), .duplicate(let version, let modified, _):
      .duplicate(version: version, modified: modified, record: nil)
    case .conflict: .conflict(current: nil)
    case .rejected, .waiting: self
    }
  }
}
