import BothyStore

/// The decision of a request's operations, and their storage.
extension SyncService {
  /// The longest delay of a request after the device has given it up, in milliseconds. The network may deliver it after
  /// the device has repeated it and continued. The server must recognize it, because applying it again can recreate a
  /// deleted record.
  static let latest: Int64 = 600_000

  /// Decides the operations, and writes nothing. Reads everything before the decisions: two round trips to the storage
  /// for any number of operations, and one for each new list and for sixteen records that operations refer to. The
  /// outcomes end before an operation whose records have no room.
  ///
  /// - Parameters:
  ///   - transaction: the transaction that stores the result. With `nil` the result is a preview.
  ///   - decisions: those of the team's rule, or `nil` on a server without one.
  func decide(
    _ request: SyncRequest, _ user: Caller, _ now: Int64, _ storage: any ServerSnapshot,
    completing transaction: (any ServerTransaction)? = nil, _ decisions: WriteDecisions?
  ) throws -> DecidedRequest {
    let identity = OperationIdentity(request.device, of: user)
    let keys = Dictionary(
      request.operations.map { ($0.id, identity.key($0)) }, uniquingKeysWith: { first, _ in first })
    let known = try known(request.operations, keys, identity, storage)
    let unseen = known.isEmpty ? request.operations : request.operations.filter { known[$0.id] == nil }
    let open =
      known.isEmpty
      ? unseen
      : request.operations.filter { known[$0.id].map { $0.isConflict || $0.isAppliedOtherwise } ?? true }
    var decided = DecidedRequest(
      identity: identity, keys: keys, known: known,
      batch: try batch(of: open, user, now, storage, completing: transaction, decisions))
    decided.outcomes.reserveCapacity(request.operations.count)
    var chain = OperationChain(request.operations)
    for unit in request.units {
      // The first unit is judged in any case, so each request makes progress.
      let isFirst = unit.contains { $0.id == open.first?.id }
      if !isFirst, unit.contains(where: decided.batch.lacksRecords) { break }
      var fresh: [Outcome.Verdict] = []
      let new = unit.filter { known[$0.id] == nil }
      if let verdicts = chain.waiting(new) {
        fresh = verdicts
      } else if let group = unit.first?.group {
        fresh = try Self.apply(new.map(chain.resolved), group, &decided.batch)
      }
      fresh.reverse()
      for operation in unit {
        let verdict: Outcome.Verdict =
          if let verdict = known[operation.id] { decided.repeated(verdict, of: operation) } else {
            try fresh.popLast() ?? decided.batch.apply(chain.resolved(operation))
          }
        decided.outcomes.append(Outcome(operation: operation.id, verdict))
        chain.note(operation, verdict)
      }
    }
    try decided.batch.reconsider(unseen, &decided.outcomes)
    return decided
  }

  /// Stores the records and the outcomes. Returns the positions that the outcomes name: one round trip.
  func store(
    _ decided: DecidedRequest, at now: Int64, in storage: any ServerTransaction
  ) throws -> Set<Int64> {
    let reported = decided.reported.union(try store(decided.batch, in: storage, from: storage.head))
    try storage.remember(
      decided.outcomes.compactMap { outcome in
        // An outcome without an owner, from an earlier format, has no record and isn't written again.
        if case .duplicate? = decided.known[outcome.operation] { return nil }
        return decided.keys[outcome.operation].flatMap { outcome.remembered(as: $0) }
      }, device: decided.identity.device, at: now)
    return reported
  }

  /// Returns the outcomes within the budget of an answer. A conflict that waits for room is remembered as a conflict.
  /// The outcomes end before an applied operation or group whose records have no room. The device sends the rest again.
  func answers(_ decided: DecidedRequest, to request: SyncRequest) -> [Outcome] {
    var budget = OutcomeBudget(answerBytes(for: .outcomes))
    var answers: [Outcome] = []
    for unit in request.units {
      let outcomes = decided.outcomes.dropFirst(answers.count).prefix(unit.count)
      guard outcomes.count == unit.count, budget.hasRoom(for: outcomes) else { break }
      answers += outcomes.map {
        Outcome(operation: $0.operation, budget.bounded($0.verdict, of: $0.operation))
      }
    }
    return answers
  }

  /// Returns the remembered outcomes of the operations, by their ids.
  private func known(
    _ operations: [SyncOperation], _ keys: [String: OperationKey], _ identity: OperationIdentity,
    _ storage: any ServerSnapshot
  ) throws -> [String: Outcome.Verdict] {
    let found = try storage.outcomes(Array(keys.values) + operations.map(identity.formerKey))
    guard !found.isEmpty else { return [:] }
    var known: [String: Outcome.Verdict] = [:]
    for operation in operations {
      known[operation.id] =
        keys[operation.id].flatMap { found[$0] } ?? found[identity.formerKey(operation)].map(\.withoutRecord)
    }
    return known
  }

  /// Returns the verdicts on the new operations of a group.
  private static func apply(
    _ operations: [SyncOperation], _ group: SyncOperation.Group, _ batch: inout OperationBatch
  ) throws -> [Outcome.Verdict] {
    if operations.count == group.size { return try batch.apply(together: operations) }
    let refusal = Rejection(
      code: Rejection.incompleteGroup,
      message: "A group of \(group.size) operations is applied whole, and not all of them came. "
        + "Send them next to each other in one request.")
    return operations.map { _ in .rejected(refusal) }
  }

  /// Makes a batch with the records that the operations may need, those of amendments included. Reads the records of
  /// as many operations as `AccessRules.pushSize` has room for. Records that operations only refer to are kept in part.
  ///
  /// - Parameter transaction: completes the notes of unique values. With `nil` the batch may accept a taken value.
  func batch(
    of sent: [SyncOperation], _ user: Caller, _ now: Int64, _ storage: any ServerSnapshot,
    completing transaction: (any ServerTransaction)?, _ decisions: WriteDecisions?
  ) throws -> OperationBatch {
    let operations = decisions.map { sent + $0.amendments(of: sent, rules) } ?? sent
    let unique = UniqueFields(rules.schema, step: rules.uniqueStep)
    let values = try unique?.values(setBy: operations, rules, in: storage) ?? ProposedValues()
    let holders = try unique?.holders(of: values.all, in: storage, completing: transaction) ?? [:]
    let needs = RecordNeeds(of: operations, values, holders, rules)
    let viewer = try viewer(user, in: storage)
    let needed = try NeededRecords(of: sent, needs, bytes: rules.pushSize, in: storage)
    var records = needed.records
    try storage.forEachRecord(of: needs.named.subtracting(needed.read)) { id, entry in
      guard var entry else { return }
      entry.record = rules.reducedToVisible(entry.record)
      records[id] = entry
    }
    return OperationBatch(
      evaluator: OperationEvaluator(rules: rules, viewer: viewer, now: now),
      head: storage.head, records: records, unread: needed.unread, unique: unique, holders: holders,
      takenLists: try takenLists(of: operations, besides: records, in: storage), decisions: decisions)
  }

  /// Returns the missing lists that the operations insert and that records are still shared with.
  private func takenLists(
    of operations: [SyncOperation], besides records: [RecordID: StoredRecord], in storage: any ServerSnapshot
  ) throws -> Set<RecordID> {
    var taken: Set<RecordID> = []
    for operation in operations {
      let list = operation.record
      guard operation.kind == .insert, list.type == UserList.typeName, records[list] == nil else { continue }
      if try !storage.records(sharedWith: list.id, limit: 1).isEmpty { taken.insert(list) }
    }
    return taken
  }

  /// Stores the batch and returns the positions of its records.
  ///
  /// - Parameter start: the head before any change of the batch was stored.
  @discardableResult
  func store(
    _ batch: OperationBatch, in storage: any ServerTransaction, from start: Int64
  ) throws -> [Int64] {
    let written = batch.written
    let changes = batch.changes(written)
    let sight = try VisibilityChange(
      of: changes, rules, in: storage, limit: rules.sharingRowLimit, maker: batch.evaluator.viewer)
    let keeps = try FieldIndexing(wanted: rules.fieldIndexes).follow(changes, in: storage)
    try storage.put(written, keepsIndexes: keeps)
    try storage.put(batch.history, keeping: rules.historyLimit)
    try sight.store(in: storage)
    try batch.unique?.follow(changes, from: start, in: storage)
    return written.map(\.position)
  }

  /// Returns the viewer for a user. Its lists and memberships are read only if a rule depends on them.
  func viewer(_ user: Caller, in storage: any ServerSnapshot) throws -> Viewer {
    var viewer = Viewer(user: user)
    if rules.usesSharing { viewer.lists = try storage.lists(of: user.names) }
    viewer.memberships = try Memberships(of: user, rules, in: storage)
    return viewer
  }
}

/// The operations of a request with their outcomes, before anything is stored.
struct DecidedRequest {
  let identity: OperationIdentity
  /// The keys of the outcomes by the operations' ids.
  let keys: [String: OperationKey]
  /// The outcomes of earlier sendings, by the operations' ids.
  let known: [String: Outcome.Verdict]
  var batch: OperationBatch
  var outcomes: [Outcome] = []
  /// The positions of the changes of earlier sendings.
  private(set) var reported: Set<Int64> = []

  init(
    identity: OperationIdentity, keys: [String: OperationKey], known: [String: Outcome.Verdict],
    batch: OperationBatch
  ) {
    self.identity = identity
    self.keys = keys
    self.known = known
    self.batch = batch
  }

  /// Returns the verdict on a repetition. A conflict stays one, with the server's present version, so that a late copy
  /// changes nothing. A record that has changed since comes by a page.
  fileprivate mutating func repeated(
    _ verdict: Outcome.Verdict, of operation: SyncOperation
  ) -> Outcome.Verdict {
    switch verdict {
    case .applied where batch.lacksRecords(of: operation): return verdict.withoutRecord
    case .applied(let version, let modified, let record):
      if let position = Int64(version) { reported.insert(position) }
      return .duplicate(
        version: version, modified: modified,
        record: record.flatMap { _ in batch.record(operation.record, at: version) })
    case .conflict: return batch.conflict(of: operation)
    case .duplicate, .rejected, .waiting: return verdict
    }
  }
}

extension Outcome {
  /// Returns the outcome to remember, which is valid for every later copy of the operation. Devices send a new id for a
  /// new decision. A record is remembered without its fields. Returns `nil` if nothing was decided because a part of the
  /// group was missing.
  fileprivate func remembered(as key: OperationKey) -> Outcome? {
    let kept: Verdict
    switch verdict {
    case .waiting: kept = verdict
    case .applied(let version, let modified, var record), .duplicate(let version, let modified, var record):
      record?.fields = .empty
      kept = .applied(version: version, modified: modified, record: record)
    case .conflict: kept = .conflict(current: nil)
    case .rejected(let rejection):
      if rejection.code == Rejection.incompleteGroup { return nil }
      kept = verdict
    }
    return Outcome(operation: key.operation, kept)
  }
}

extension SyncRequest {
  /// The operations in order: the operations of a group together, and each other one alone.
  fileprivate var units: [ArraySlice<SyncOperation>] {
    var units: [ArraySlice<SyncOperation>] = []
    units.reserveCapacity(operations.count)
    var start = 0
    while start < operations.count {
      var end = start + 1
      if let group = operations[start].group {
        while end < operations.count, operations[end].group == group { end += 1 }
      }
      units.append(operations[start..<end])
      start = end
    }
    return units
  }
}
