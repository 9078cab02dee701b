import BothyStore

/// Decides the operations of one request one after another, each seeing what those before it did. Pure: the
/// records it may need are given, what is to be stored is collected.
struct OperationBatch {
  let judgement: Judgement
  private(set) var head: Int64
  private var records: [RecordID: LedgerRecord]
  /// What the records were before the request.
  private let originals: [RecordID: LedgerRecord]
  private var changed: [RecordID: Int] = [:]
  private var results: [LedgerRecord?] = []
  /// Where records that were moved had been before the request.
  private var origins: [RecordID: String] = [:]
  /// What was done, in order.
  private(set) var history: [HistoryEntry] = []
  /// The operation of this request that failed to make a record, for those that refer to it.
  private var failures: [RecordID: String] = [:]

  init(judgement: Judgement, head: Int64, records: [RecordID: LedgerRecord]) {
    self.judgement = judgement
    self.head = head
    self.records = records
    originals = records
  }

  /// The stored records with what they were before.
  var changes: [(before: ServerRecord?, after: ServerRecord)] {
    written.map { (originals[$0.record.id]?.record, $0.record) }
  }

  /// What to store: for each changed record its last state.
  var written: [LedgerRecord] {
    results.compactMap { result in
      guard var entry = result else { return nil }
      if let origin = origins[entry.record.id], origin != entry.record.container { entry.leaves = origin }
      return entry
    }
  }

  mutating func apply(_ operation: Operation) throws -> Outcome.Verdict {
    if let refusal = missingReference(operation) {
      if case .rejected = refusal { failures[operation.record] = operation.id }
      return refusal
    }
    return try decide(operation)
  }

  /// Applies all operations of a group or, when one of them cannot be applied, none: each such one is answered
  /// with what stands against it, the others wait on the first of them. What the group's records refer to may be
  /// made by any of them.
  mutating func apply(together operations: [Operation]) throws -> [Outcome.Verdict] {
    let before = self
    var verdicts = try operations.map { try decide($0) }
    for (index, operation) in operations.enumerated() where verdicts[index].isApplied {
      if let refusal = missingReference(operation) { verdicts[index] = refusal }
    }
    let failed = zip(operations, verdicts).first { !$1.isApplied }
    guard let culprit = failed?.0 else { return verdicts }
    self = before
    for operation in operations { failures[operation.record] = culprit.id }
    return verdicts.map { $0.isApplied ? .waiting(on: culprit.id) : $0 }
  }

  /// The answer to a later copy of an operation that was a conflict: what the server has now, where it may be seen.
  func conflict(of operation: Operation) -> Outcome.Verdict {
    let current = records[operation.record]?.record
    if let rejection = judgement.refusal(of: operation, current: current) { return .rejected(rejection) }
    return .conflict(current: current)
  }

  private mutating func decide(_ operation: Operation) throws -> Outcome.Verdict {
    if let list = foreignList(operation) {
      failures[operation.record] = operation.id
      return .rejected(
        Rejection(
          code: "unknownList", message: "You have no list '\(list)' to share \(operation.record) with."))
    }
    switch try judgement.decide(operation, current: records[operation.record]?.record) {
    case .store(var record, let fieldsDiffer):
      head += 1
      record.version = String(head)
      note(operation, record)
      store(LedgerRecord(position: head, record: record))
      return .applied(version: record.version, modified: record.modified, record: fieldsDiffer ? record : nil)
    case .unchanged(let record):
      return .applied(version: record.version, modified: record.modified, record: nil)
    case .conflict(let current): return .conflict(current: current)
    case .reject(let rejection):
      failures[operation.record] = operation.id
      return .rejected(rejection)
    }
  }

  private mutating func note(_ operation: Operation, _ record: ServerRecord) {
    let before = records[operation.record]?.record.container
    var fields = operation.fields.keys.sorted()
    if operation.kind == .delete { fields = [] }
    history.append(
      HistoryEntry(
        position: head, kind: operation.kind, record: operation.record, container: record.container,
        movedFrom: before == record.container ? nil : before, principal: judgement.viewer.principal.name,
        time: judgement.now, fields: fields))
  }

  private mutating func store(_ record: LedgerRecord) {
    let id = record.record.id
    if let before = records[id]?.record.container, before != record.record.container, origins[id] == nil {
      origins[id] = before
    }
    if let earlier = changed[id] { results[earlier] = nil }
    changed[id] = results.count
    results.append(record)
    records[id] = record
  }

  /// A list that the operation shares with and that is not the principal's own.
  private func foreignList(_ operation: Operation) -> String? {
    guard let change = operation.sharing else { return nil }
    let known = records[operation.record]?.record.sharing.lists ?? []
    return change.add.lists.subtracting(known).sorted().first { id in
      guard let list = records[PrincipalList.recordID(id)]?.record, !list.isDeleted else { return true }
      return list.owner == nil || list.owner != judgement.viewer.principal.name
    }
  }

  /// What stands against an operation that refers to a record which is not there.
  private func missingReference(_ operation: Operation) -> Outcome.Verdict? {
    guard let missing = firstMissing(operation) else { return nil }
    if let blocker = failures[missing] { return .waiting(on: blocker) }
    return .rejected(
      Rejection(
        code: "unknownReference", message: "\(operation.record) refers to \(missing), which is not there."))
  }

  private func firstMissing(_ operation: Operation) -> RecordID? {
    guard operation.kind != .delete else { return nil }
    return judgement.rules.references(in: operation.fields, of: operation.record.type).first { id in
      id != operation.record && records[id].map(\.record.isDeleted) ?? true
    }
  }
}

extension Outcome.Verdict {
  /// Whether the server has made the change, now or at an earlier sending.
  var isApplied: Bool {
    switch self {
    case .applied, .duplicate: true
    case .conflict, .rejected, .waiting: false
    }
  }

  /// Whether the record had changed since the operation's base.
  var isConflict: Bool { if case .conflict = self { true } else { false } }
}
