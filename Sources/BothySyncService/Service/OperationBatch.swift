import BothyStore

/// Decides the operations of one request in order, each with the effects of those before it. Pure: its input is the
/// records that it may need, and its output the records to store.
struct OperationBatch {
  private(set) var evaluator: OperationEvaluator
  private(set) var head: Int64
  private var records: [RecordID: StoredRecord]
  /// The operations whose records were not all read, by their ids.
  private let unread: Set<String>
  /// The records before the request.
  private let originals: [RecordID: StoredRecord]
  private var changed: [RecordID: Int] = [:]
  private var results: [StoredRecord?] = []
  /// The containers of moved records before the request.
  private var origins: [RecordID: String] = [:]
  /// The changes, in order.
  private(set) var history: [HistoryEntry] = []
  /// The operation of this request that failed to insert a record, for operations that refer to the record.
  private var failures: [RecordID: String] = [:]
  /// The unique fields of the schema, or `nil` if it has none.
  let unique: UniqueFields?
  /// The records that may have a value of a unique field.
  private var holders: [UniqueFieldValue: Set<RecordID>]
  /// The missing lists that records are still shared with. Members of a new list with such an id see these records.
  private let takenLists: Set<RecordID>
  /// The decisions of the team's rule, or `nil` on a server without one.
  private let decisions: WriteDecisions?
  /// The writes to ask the rule about, in order. They are applied as if it accepted them, so the batch isn't stored.
  private(set) var undecided: [ProposedWrite] = []
  /// The operations with the fields that the rule has set, by their ids.
  private var amendments: [String: SyncOperation] = [:]

  init(
    evaluator: OperationEvaluator, head: Int64, records: [RecordID: StoredRecord], unread: Set<String> = [],
    unique: UniqueFields? = nil,
    holders: [UniqueFieldValue: Set<RecordID>] = [:], takenLists: Set<RecordID> = [],
    decisions: WriteDecisions? = nil
  ) {
    self.evaluator = evaluator
    self.head = head
    self.records = records
    self.unread = unread
    self.unique = unique
    self.holders = holders
    self.takenLists = takenLists
    self.decisions = decisions
    originals = records
  }

  /// Returns the stored records with their earlier versions.
  func changes(_ written: [StoredRecord]) -> [(before: ServerRecord?, after: ServerRecord)] {
    written.map { (originals[$0.record.id]?.record, $0.record) }
  }

  /// The records to store: the last version of each changed record.
  var written: [StoredRecord] {
    results.compactMap { result in
      guard var entry = result else { return nil }
      if let origin = origins[entry.record.id], !origin.hasSameBytes(as: entry.record.container) {
        entry.leaves = origin
      }
      return entry
    }
  }

  /// Returns a record of the batch as it is now.
  func record(_ id: RecordID) -> ServerRecord? { records[id]?.record }

  /// Returns a record of the batch if it still has a version and the user may see it.
  func record(_ id: RecordID, at version: String) -> ServerRecord? {
    guard let found = records[id]?.record, found.version == version,
      evaluator.rules.shows(found, to: evaluator.viewer)
    else { return nil }
    return found.sent
  }

  /// True if the request had no room for all records that the operation needs. It is rejected then.
  func lacksRecords(of operation: SyncOperation) -> Bool { unread.contains(operation.id) }

  mutating func apply(_ operation: SyncOperation) throws -> Outcome.Verdict {
    if lacksRecords(of: operation) {
      failures[operation.record] = operation.id
      return .rejected(evaluator.rules.tooLargeTogether)
    }
    if let refusal = try missingReference(operation) {
      // Operations that refer to the record wait for this one, also if it waits itself.
      failures[operation.record] = operation.id
      return refusal
    }
    return try decide(operation, isAlone: true)
  }

  /// Decides operations again that were rejected for a value that the request has freed since. Also decides those again
  /// that waited for such an operation. Operations of groups are left alone.
  ///
  /// The order of a request follows references, so an operation that frees a value may come after one that takes it.
  /// Operations that swap values are applied together.
  mutating func reconsider(_ operations: [SyncOperation], _ outcomes: inout [Outcome]) throws {
    guard unique != nil, outcomes.contains(where: \.isUniqueViolation) else { return }
    let places = Dictionary(
      outcomes.enumerated().map { ($1.operation, $0) }, uniquingKeysWith: { first, _ in first })
    let named = Dictionary(operations.map { ($0.record, 1) }, uniquingKeysWith: +)
    func open(_ isOpen: (Outcome) -> Bool) -> [(place: Int, operation: SyncOperation)] {
      operations.compactMap { operation in
        guard operation.group == nil, operation.after == nil, named[operation.record] == 1,
          let place = places[operation.id],
          isOpen(outcomes[place])
        else { return nil }
        return (place, operation)
      }
    }
    for _ in 0..<Self.rounds {
      var isMoving = false
      for (place, operation) in open({ $0.isUniqueViolation || $0.isWaiting }) {
        let verdict = try apply(operation)
        outcomes[place].verdict = verdict
        guard verdict.isApplied else { continue }
        failures[operation.record] = nil
        isMoving = true
      }
      if !isMoving { break }
    }
    let left = open(\.isUniqueViolation)
    guard left.count > 1, left.count <= Self.tradeLimit else { return }
    let verdicts = try apply(together: left.map(\.operation))
    guard verdicts.allSatisfy(\.isApplied) else { return }
    for (index, (place, _)) in left.enumerated() { outcomes[place].verdict = verdicts[index] }
  }

  /// The number of times that rejected operations are decided again. Each time costs a decision for each of them.
  private static let rounds = 3
  /// The most operations that may swap their values without being a group.
  private static let tradeLimit = 100

  /// Applies all operations of a group, or none if one cannot be applied. Each such operation gets its problem as the
  /// verdict, and the others wait for the first of them. The group's records may refer to any of each other, and the
  /// values of unique fields are checked at the end. A group is answered whole, so its records have a limit together.
  mutating func apply(together operations: [SyncOperation]) throws -> [Outcome.Verdict] {
    if operations.contains(where: lacksRecords) { return refuse(tooLarge: operations) }
    let before = self
    var verdicts = try operations.map { try decide($0, isAlone: false) }
    for (index, sent) in operations.enumerated() where verdicts[index].isApplied {
      let operation = amendments[sent.id] ?? sent
      if let refusal = try missingReference(operation) {
        verdicts[index] = refusal
      } else if let record = records[operation.record]?.record,
        let refusal = try takenValue(record, before: before.records[operation.record]?.record)
      {
        verdicts[index] = .rejected(refusal)
      }
    }
    let failed = zip(operations, verdicts).first { !$1.isApplied }
    guard let culprit = failed?.0 else {
      let size = Set(operations.map(\.record)).reduce(0) {
        $0.addingClamped(records[$1]?.record.weight ?? 0)
      }
      if size <= evaluator.rules.pushSize { return verdicts }
      self = before
      return refuse(tooLarge: operations)
    }
    self = before
    for operation in operations { failures[operation.record] = culprit.id }
    return verdicts.map { $0.isApplied ? .waiting(on: culprit.id) : $0 }
  }

  /// Rejects operations whose records are too large together for one request.
  private mutating func refuse(tooLarge operations: [SyncOperation]) -> [Outcome.Verdict] {
    for operation in operations { failures[operation.record] = operation.id }
    let rejection = evaluator.rules.tooLargeTogether
    return operations.map { _ in .rejected(rejection) }
  }

  /// Returns the verdict on a later copy of a conflicting operation: the present version, if the user may see it.
  func conflict(of operation: SyncOperation) -> Outcome.Verdict {
    if lacksRecords(of: operation) { return .rejected(evaluator.rules.tooLargeTogether) }
    return evaluator.conflict(of: operation, current: records[operation.record]?.record)
  }

  /// - Parameters:
  ///   - isAlone: true if a value of a unique field must be free now, and not at the end of a group.
  ///   - isAmended: true if the operation has the fields of the team's rule, which isn't asked again.
  private mutating func decide(
    _ operation: SyncOperation, isAlone: Bool, isAmended: Bool = false
  ) throws -> Outcome.Verdict {
    if let list = foreignList(operation) {
      failures[operation.record] = operation.id
      return .rejected(
        Rejection(
          code: "unknownList", message: "You have no list '\(list)' to share \(operation.record) with."))
    }
    let current = records[operation.record]?.record
    var decision = try evaluator.decide(operation, current: current, isAmended: isAmended)
    if case .store(let list, _) = decision, takenLists.contains(list.id) { decision = .taken(list) }
    if isAlone, case .store(let record, _) = decision,
      let refusal = try takenValue(record, before: current)
    {
      failures[operation.record] = operation.id
      return .rejected(refusal)
    }
    if !isAmended, let verdict = try rule(on: operation, decision, isAlone: isAlone) { return verdict }
    switch decision {
    case .store(var record, let fieldsDiffer):
      head += 1
      record.version = String(head)
      note(operation, record)
      try store(StoredRecord(position: head, record: record))
      return .applied(
        version: record.version, modified: record.modified, record: fieldsDiffer || isAmended ? record : nil)
    case .unchanged(let record):
      return .applied(
        version: record.version, modified: record.modified, record: isAmended ? record : nil)
    case .conflict(let current): return .conflict(current: current)
    case .taken(let record):
      failures[operation.record] = operation.id
      // Returns the rejection that the user gets with a free id.
      let refusal = isAlone ? try takenValue(record, before: nil) : nil
      return .rejected(refusal ?? evaluator.forbidden(operation))
    case .reject(let rejection):
      failures[operation.record] = operation.id
      return .rejected(rejection)
    }
  }

  /// Carries out the decision of the team's rule. Returns `nil` if the operation is applied as it is.
  ///
  /// An amended operation is judged by all other rules again. A write without a decision counts as accepted, and is
  /// noted, so that the rule can be asked. It waits if the rule isn't asked again.
  private mutating func rule(
    on operation: SyncOperation, _ judged: OperationEvaluator.Decision, isAlone: Bool
  ) throws -> Outcome.Verdict? {
    guard let decisions else { return nil }
    let (current, isChanged) = (records[operation.record]?.record, changed[operation.record] != nil)
    let cleared = evaluator.rules.clearedSecrets(operation)
    guard
      let write = ProposedWrite(
        operation, clearing: cleared, judged, current: current, isChanged: isChanged)
    else { return nil }
    guard let decision = decisions[write] else {
      guard decisions.isFinal else {
        undecided.append(write)
        return nil
      }
      failures[operation.record] = operation.id
      return .waiting(on: operation.after ?? operation.id)
    }
    if case .refuse(let rejection) = decision.kind {
      failures[operation.record] = operation.id
      return .rejected(rejection)
    }
    let known = evaluator.rules.canonical(
      try write.before?.fields.members() ?? [:], of: operation.record.type)
    guard let amended = decision.amended(operation, over: known).map(evaluator.rules.canonical) else {
      return nil
    }
    amendments[operation.id] = amended
    if isAlone, let refusal = try missingReference(amended) {
      failures[operation.record] = operation.id
      return refusal
    }
    return try decide(amended, isAlone: isAlone, isAmended: true)
  }

  private mutating func note(_ operation: SyncOperation, _ record: ServerRecord) {
    let before = records[operation.record]?.record.container
    var fields: [String] = []
    var room = FixedLimits.historyNames
    let names = operation.kind == .delete ? [] : operation.fields.keys.sorted()
    for name in names where name.utf8.count <= room {
      fields.append(name)
      room -= name.utf8.count
    }
    history.append(
      HistoryEntry(
        position: head, kind: operation.kind, record: operation.record, container: record.container,
        movedFrom: before.isSameName(as: record.container) ? nil : before,
        user: evaluator.viewer.user.name,
        time: evaluator.now, fields: fields))
  }

  private mutating func store(_ record: StoredRecord) throws {
    let id = record.record.id
    for value in try unique?.values(of: record.record) ?? [] { holders[value, default: []].insert(id) }
    if let before = records[id]?.record.container, origins[id] == nil,
      !before.hasSameBytes(as: record.record.container)
    {
      origins[id] = before
    }
    if let earlier = changed[id] { results[earlier] = nil }
    changed[id] = results.count
    results.append(record)
    records[id] = record
    evaluator.viewer.follow(record.record, evaluator.rules)
  }

  /// Returns a list in the operation's audience that the user doesn't own.
  private func foreignList(_ operation: SyncOperation) -> String? {
    guard let change = operation.sharing else { return nil }
    let record = records[operation.record]?.record
    let seen = record.flatMap { evaluator.rules.shows($0, to: evaluator.viewer) ? $0 : nil }
    let known = seen?.sharing.lists ?? []
    return change.add.lists.subtracting(known).sorted().first { id in
      guard let list = records[UserList.recordID(id)]?.record, !list.isDeleted else { return true }
      return list.owner == nil || !list.owner.isSameName(as: evaluator.viewer.user.name)
    }
  }

  /// Returns the verdict on an operation that refers to a missing record, or `nil`.
  private func missingReference(_ operation: SyncOperation) throws -> Outcome.Verdict? {
    guard let missing = try firstMissing(operation) else { return nil }
    if let blocker = failures[missing.id] { return .waiting(on: blocker) }
    let message =
      "\(operation.record) refers to \(missing.id), which is not there. Save that one first, or clear the field "
      + "'\(missing.field)'."
    return .rejected(
      Rejection(
        code: "unknownReference", message: message,
        fields: [
          .init(
            field: missing.field, code: "unknownReference", message: "There is no \(missing.id).",
            record: missing.id)
        ]))
  }

  /// Returns the first new reference to a record that is missing or hidden from the user.
  private func firstMissing(_ operation: SyncOperation) throws -> (field: String, id: RecordID)? {
    guard operation.kind != .delete else { return nil }
    let missing = evaluator.rules.references(in: operation.fields, of: operation.record.type).filter {
      $0.id != operation.record
        && records[$0.id].map {
          $0.record.isDeleted || !evaluator.rules.shows($0.record, to: evaluator.viewer)
        }
          ?? true
    }
    guard !missing.isEmpty, operation.kind == .update,
      let before = originals[operation.record]?.record, !before.isDeleted,
      evaluator.rules.shows(before, to: evaluator.viewer)
    else { return missing.first }
    // Both may have many thousands, so they are not compared one by one.
    var known: [String: Set<RecordID>] = [:]
    for one in evaluator.rules.references(in: try before.fields.members(), of: before.id.type) {
      known[one.field, default: []].insert(one.id)
    }
    return missing.first { !(known[$0.field]?.contains($0.id) ?? false) }
  }

  // MARK: unique values

  /// Returns the rejection of a record that takes the value of a unique field from another one. A value that the record
  /// had before isn't checked, so that a record with a duplicate accepts edits of its other fields.
  private func takenValue(_ record: ServerRecord, before: ServerRecord?) throws -> Rejection? {
    guard let unique else { return nil }
    let values = try unique.values(of: record)
    guard !values.isEmpty else { return nil }
    let known = Set(try unique.values(of: before))
    for value in values where !known.contains(value) {
      for id in (holders[value] ?? []).subtracting([record.id]).sorted(by: { $0.id < $1.id }) {
        guard let other = records[id]?.record,
          try unique.values(of: other).contains(value)
        else { continue }
        return refusal(of: value, heldBy: other)
      }
    }
    return nil
  }

  /// Makes the rejection. It names the other record only if the user may see it.
  private func refusal(of value: UniqueFieldValue, heldBy other: ServerRecord) -> Rejection {
    let isSeen = evaluator.rules.shows(other, to: evaluator.viewer)
    let name = isSeen ? "Another \(value.type) ('\(other.id.id)')" : "Another \(value.type)"
    let remedy = isSeen ? "Choose another value, or change that one first." : "Choose another value."
    let fields = value.fields
    let same = fields.map { "'\($0)'" }.joined(separator: " and ")
    return Rejection(
      code: Rejection.uniqueViolation,
      message:
        "\(name) has the same \(same), which \(fields.count == 1 ? "is unique" : "are unique together"). \(remedy)",
      fields: fields.map {
        .init(
          field: $0, code: Rejection.uniqueViolation, message: "The value is taken.",
          record: isSeen ? other.id : nil)
      })
  }
}

extension Outcome {
  fileprivate var isUniqueViolation: Bool {
    if case .rejected(let rejection) = verdict { rejection.code == Rejection.uniqueViolation } else { false }
  }

  fileprivate var isWaiting: Bool { if case .waiting = verdict { true } else { false } }
}
