import BothyStore

/// The rule's decisions on the operations of one request. Pure.
///
/// A decision is valid for just the write that was proposed. If the record, or the result of the operation, is another
/// one when the operation is applied, the rule is asked again.
struct WriteDecisions: Sendable {
  private var known: [String: (write: ProposedWrite, decision: WriteDecision)] = [:]
  /// True if the rule isn't asked again. Operations without a decision wait then.
  var isFinal = false

  /// Returns the decision on exactly this write.
  subscript(write: ProposedWrite) -> WriteDecision? {
    guard let known = known[write.operation], known.write == write else { return nil }
    return known.decision
  }

  mutating func add(_ decisions: [WriteDecision], on writes: [ProposedWrite]) {
    for (write, decision) in zip(writes, decisions) { known[write.operation] = (write, decision) }
  }

  /// Returns the operations whose fields the rule amends, with its fields alone.
  func amendments(of operations: [SyncOperation], _ rules: AccessRules) -> [SyncOperation] {
    operations.compactMap { operation in
      guard let decision = known[operation.id]?.decision else { return nil }
      var bare = operation
      bare.fields = [:]
      return decision.amended(bare, over: [:]).map(rules.canonical)
    }
  }

  /// The fields of all amendments.
  var amendedFields: [[String: JSONValue]] {
    known.values.compactMap { entry in
      switch entry.decision.kind {
      case .set(let fields), .replace(let fields): fields
      case .accept, .refuse, .undecided: nil
      }
    }
  }
}

extension ProposedWrite {
  /// Makes the proposal of a judged operation. Returns `nil` if the operation changes nothing.
  ///
  /// - Parameters:
  ///   - cleared: the sensitive fields whose values the operation clears, which are no part of the record.
  ///   - current: the record before the operation.
  ///   - isChanged: true if the request itself has changed that record. Its version isn't final then.
  init?(
    _ operation: SyncOperation, clearing cleared: [String], _ decision: OperationEvaluator.Decision,
    current: ServerRecord?, isChanged: Bool
  ) {
    let sensitive = Set(operation.secrets.values.keys).union(cleared)
    let result: ServerRecord
    switch decision {
    case .store(let record, _): result = record
    case .unchanged(let record) where !sensitive.isEmpty: result = record
    case .unchanged, .conflict, .reject, .taken: return nil
    }
    var before = current.flatMap { $0.isDeleted ? nil : $0 }
    if isChanged { before?.version = "" }
    var after = result.isDeleted ? nil : result
    after?.version = ""
    self.init(
      operation: operation.id, kind: operation.kind, record: operation.record, fields: operation.fields,
      before: before, after: after)
    sensitiveFields = sensitive
    sharing = operation.sharing
    group = operation.group?.id
  }
}

extension ProposedWrite {
  /// True if the sender leaves a list that names it. Every other update of a list has fields.
  var leavesList: Bool { record.type == UserList.typeName && kind == .update && fields.isEmpty }
}
