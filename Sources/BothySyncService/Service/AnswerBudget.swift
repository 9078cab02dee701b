import BothyStore

/// The changes and bytes of records that the pages of one answer may still have, and the hidden rows that they may read.
struct PageBudget {
  private(set) var changes: Int
  private(set) var bytes: AnswerBytes
  private(set) var hidden: Int
  /// True if a page was made. The first page of an answer is never empty for lack of room.
  private var isBegun = false

  init(changes: Int, bytes: AnswerBytes, hidden: Int) {
    self.changes = max(1, changes)
    self.bytes = bytes
    self.hidden = max(1, hidden)
  }

  /// True if the answer has no more room.
  var isSpent: Bool { isBegun && (changes == 0 || bytes.left == 0 || hidden == 0) }

  /// The bytes that count as one hidden row more.
  private static let hiddenBytes = 4096

  /// Takes off a hidden row that was read, and those that its bytes count as.
  mutating func spendHidden(bytes: Int = 0) {
    hidden = max(0, hidden.subtractingClamped((bytes / Self.hiddenBytes).addingClamped(1)))
  }

  mutating func spend(_ page: SyncResponse.Page) {
    isBegun = true
    changes = max(0, changes - page.changes.count - page.outOfScope.count)
    bytes.spend(page.changes.reduce(0) { $0 + $1.weight })
  }
}

/// The bytes that a list without pages may still have in one answer.
struct ListBudget {
  private var left: Int
  /// The sentence that says how to get less in one answer.
  private let advice: String

  init(bytes: Int, advice: String) {
    left = bytes
    self.advice = advice
  }

  /// Takes an element off. Throws `SyncServiceError` `.answerTooLarge` if it doesn't fit.
  ///
  /// - Parameter names: the bytes of its texts, besides which it has 64.
  mutating func spend(names: Int) throws(SyncServiceError) {
    left = left.subtractingClamped(names.addingClamped(64))
    guard left >= 0 else {
      throw SyncServiceError(
        .answerTooLarge, "The list has more bytes than the server puts into one answer. \(advice)")
    }
  }
}

/// The bytes of records that the outcomes of one answer may still have.
struct OutcomeBudget {
  private var bytes: AnswerBytes
  /// The operation whose record was the last to fit.
  private var last: String?

  init(_ bytes: AnswerBytes) { self.bytes = bytes }

  /// Returns false if an operation among these is applied and its record has no room.
  func hasRoom(for outcomes: some Sequence<Outcome>) -> Bool {
    bytes.left > 0 || outcomes.allSatisfy { !$0.verdict.isAppliedOtherwise }
  }

  /// Returns the verdict, or `waiting` if its record doesn't fit and the operation changed nothing. The device then
  /// sends the operation again.
  mutating func bounded(_ verdict: Outcome.Verdict, of operation: String) -> Outcome.Verdict {
    switch verdict {
    case .conflict(let current?):
      if bytes.left == 0, let last { return .waiting(on: last) }
      spend(current, operation)
    case .applied(_, _, let record?), .duplicate(_, _, let record?): spend(record, operation)
    default: break
    }
    return verdict
  }

  private mutating func spend(_ record: ServerRecord, _ operation: String) {
    bytes.spend(record.weight)
    last = operation
  }
}

extension Outcome {
  /// True if an earlier transaction has applied the operation.
  var isDuplicate: Bool { if case .duplicate = verdict { true } else { false } }
}

extension Outcome.Verdict {
  /// True for an applied operation whose record has other fields than were sent.
  var isAppliedOtherwise: Bool {
    switch self {
    case .applied(_, _, let record), .duplicate(_, _, let record): record != nil
    case .conflict, .rejected, .waiting: false
    }
  }

  /// The verdict on a repetition, without its record.
  var withoutRecord: Outcome.Verdict {
    switch self {
    case .applied(let version, let modified, _), .duplicate(let version, let modified, _):
      .duplicate(version: version, modified: modified, record: nil)
    case .conflict: .conflict(current: nil)
    case .rejected, .waiting: self
    }
  }
}
