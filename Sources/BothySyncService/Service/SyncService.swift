import BothyStore

/// The server's rules without HTTP: permissions, the application of operations, conflicts, and the changes for a
/// device. `bothy serve` and tests run this code.
///
/// Each call is one transaction, unless it states otherwise, and may be made from any task. Errors of the storage are
/// rethrown, in addition to those that a call names.
public struct SyncService: Sendable {
  /// The storage of records, lists and outcomes.
  public let ledger: any Ledger
  /// The limits, schema and permissions. Setting them affects later calls of this value, and no copies of it.
  public var rules: AuthorityRules
  /// The vault with the bytes of blobs; `nil` on a server without blobs.
  public let blobs: (any BlobVault)?
  /// The server's clock, in milliseconds since 1970.
  let now: @Sendable () -> Int64

  /// - Parameters:
  ///   - blobs: `nil` for a server that refuses blobs.
  ///   - now: the server's clock, in milliseconds since 1970.
  public init(
    ledger: any Ledger, rules: AuthorityRules = AuthorityRules(), blobs: (any BlobVault)? = nil,
    now: @escaping @Sendable () -> Int64
  ) {
    self.blobs = blobs
    self.ledger = ledger
    self.rules = rules
    self.now = now
  }

  /// Answers one exchange: first the operations in order, then a page for each pull, in one transaction.
  ///
  /// An operation with a known id isn't applied again, and gets its first outcome. Throws `AuthorityError` for a
  /// request that is refused as a whole, and otherwise the storage's errors. In both cases nothing was changed.
  public func sync(space: String, principal: Principal, _ request: SyncRequest) async throws -> SyncResponse {
    try check(request, from: principal)
    let wanted = try await wantedBlobs(in: space)
    var request = request
    request.operations = request.operations.map(rules.canonical)
    var response = try await answer(request, space, principal)
    response.wantedBlobs = wanted
    return response
  }

  private func answer(
    _ request: SyncRequest, _ space: String, _ principal: Principal
  ) async throws -> SyncResponse {
    let now = now()
    if request.operations.isEmpty && request.oldestOpen == nil {
      return try await ledger.read(space: space) { ledger in
        try check(request, space, ledger)
        var response = SyncResponse(serverTime: now)
        response.pages = try pages(request, principal, ledger, leavingOut: [])
        tell(&response, history(of: space, ledger), principal)
        return response
      }
    }
    try await keepBlobs(namedBy: request.operations, in: space)
    let response = try await ledger.write(space: space) { ledger in
      try check(request, space, ledger)
      var response = SyncResponse(serverTime: now)
      var told: Set<Int64> = []
      response.outcomes = try apply(request, principal, now, ledger, told: &told)
      try receiveSecrets(of: request, response.outcomes, space)
      if let oldest = request.oldestOpen {
        try ledger.forget(
          device: OperationIdentity(request.device, of: principal).device, before: oldest,
          rememberedBefore: now - Self.latest)
      }
      response.pages = try pages(request, principal, ledger, leavingOut: told)
      tell(&response, history(of: space, ledger), principal)
      return response
    }
    await removeSecrets(of: request.deleted(response.outcomes), in: space)
    return response
  }

  private func check(_ request: SyncRequest, from principal: Principal) throws {
    if let owner = request.principal, let name = principal.name, owner != name {
      throw AuthorityError(
        .wrongPrincipal,
        "This is the work of '\(owner)', and the token is that of '\(name)'. Nothing of it was taken.")
    }
    guard request.schemaVersion >= rules.minimumSchemaVersion else {
      throw AuthorityError(
        .updateRequired,
        "This server needs schema version \(rules.minimumSchemaVersion); the app has \(request.schemaVersion). "
          + "Update the app; its pending changes stay on the device until then.")
    }
    guard request.operations.count <= rules.operationLimit else {
      throw AuthorityError(
        .tooManyOperations,
        "\(request.operations.count) operations in one request; this server takes \(rules.operationLimit).")
    }
    let secrets = request.operations.reduce(0) { $0.addingClamped($1.secrets.values.count) }
    guard secrets <= FixedLimits.secretsOfRequest else {
      throw AuthorityError(
        .tooManyOperations,
        "\(secrets) values of sensitive fields in one request; this server takes \(FixedLimits.secretsOfRequest)."
      )
    }
    guard Set(request.operations.map(\.id)).count == request.operations.count else {
      throw AuthorityError(.badRequest, "Two operations of the request have the same id.")
    }
    guard request.device.utf8.count <= FixedLimits.deviceName else {
      throw AuthorityError(.badRequest, "A device's id has 1 to \(FixedLimits.deviceName) bytes.")
    }
    guard request.operations.allSatisfy({ (1...FixedLimits.operationName).contains($0.id.utf8.count) }) else {
      throw AuthorityError(.badRequest, "An operation's id has 1 to \(FixedLimits.operationName) bytes.")
    }
    guard request.pulls.count <= rules.pullLimit else {
      throw AuthorityError(
        .tooManyPulls,
        "\(request.pulls.count) places to pull from in one request; this server takes \(rules.pullLimit). "
          + "Ask for the others in further requests.")
    }
    for pull in request.pulls {
      if let token = pull.cursor, Cursor(token: token) == nil {
        throw AuthorityError(
          .badCursor, "'\(token)' isn't a cursor of this server. Pull without a cursor to start over.")
      }
    }
  }

  // MARK: operations

  /// The longest delay of a request after the device has given it up, in milliseconds. The network may deliver it after
  /// the device has repeated it and continued. The server must recognize it, because applying it again can recreate a
  /// deleted record.
  private static let latest: Int64 = 600_000

  /// Applies the operations. Reads everything before the decisions and writes everything after them: three round trips
  /// to the storage for any number of operations.
  private func apply(
    _ request: SyncRequest, _ principal: Principal, _ now: Int64, _ ledger: any LedgerTransaction,
    told: inout Set<Int64>
  ) throws -> [Outcome] {
    let identity = OperationIdentity(request.device, of: principal)
    let keys = Dictionary(
      request.operations.map { ($0.id, identity.key($0)) }, uniquingKeysWith: { first, _ in first })
    let known = try known(request.operations, keys, identity, ledger)
    let unseen = known.isEmpty ? request.operations : request.operations.filter { known[$0.id] == nil }
    let open =
      known.isEmpty ? unseen : request.operations.filter { known[$0.id]?.isConflict ?? true }
    var batch = try batch(of: open, principal, now, ledger)
    let start = ledger.head
    var outcomes: [Outcome] = []
    outcomes.reserveCapacity(request.operations.count)
    var chain = OperationChain(request.operations)
    for unit in request.units {
      var fresh: [Outcome.Verdict] = []
      let new = unit.filter { known[$0.id] == nil }
      if let verdicts = chain.waiting(new) {
        fresh = verdicts
      } else if let group = unit.first?.group {
        fresh = try Self.apply(new.map(chain.resolved), group, &batch)
      }
      fresh.reverse()
      for operation in unit {
        let verdict: Outcome.Verdict =
          if let verdict = known[operation.id] { Self.repeated(verdict, of: operation, batch, &told) } else {
            try fresh.popLast() ?? batch.apply(chain.resolved(operation))
          }
        outcomes.append(Outcome(operation: operation.id, verdict))
        chain.note(operation, verdict)
      }
    }
    try batch.reconsider(unseen, &outcomes)
    told.formUnion(try store(batch, in: ledger, from: start))
    try ledger.remember(
      outcomes.compactMap { outcome in
        // An outcome without an owner, from an earlier format, has no record and isn't written again.
        if case .duplicate? = known[outcome.operation] { return nil }
        return keys[outcome.operation].flatMap { outcome.remembered(as: $0) }
      }, device: identity.device, at: now)
    // A conflict that waits for room in an answer is remembered as a conflict.
    var budget = OutcomeBudget(bytes: rules.answerSize)
    return outcomes.map { Outcome(operation: $0.operation, budget.bounded($0.verdict, of: $0.operation)) }
  }

  /// Returns the remembered outcomes of the operations, by their ids.
  private func known(
    _ operations: [SyncOperation], _ keys: [String: OperationKey], _ identity: OperationIdentity,
    _ ledger: any LedgerSnapshot
  ) throws -> [String: Outcome.Verdict] {
    let found = try ledger.outcomes(Array(keys.values) + operations.map(identity.formerKey))
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

  /// Makes a batch with all records that the operations may need.
  func batch(
    of operations: [SyncOperation], _ principal: Principal, _ now: Int64, _ ledger: any LedgerTransaction
  ) throws -> OperationBatch {
    var needed = operations.map(\.record)
    for operation in operations {
      if rules.checksReferences {
        needed += rules.references(in: operation.fields, of: operation.record.type).map(\.id)
      }
      if let sharing = operation.sharing { needed += sharing.add.lists.map(UserList.recordID) }
    }
    let unique = UniqueFields(rules.schema)
    let holders = try unique?.holders(of: operations, rules, in: ledger) ?? [:]
    for (value, ids) in holders { needed += ids.map { RecordID(type: value.type, id: $0) } }
    let lists = try viewer(principal, in: ledger).lists
    return OperationBatch(
      evaluator: OperationEvaluator(rules: rules, principal: principal, lists: lists, now: now),
      head: ledger.head,
      records: try ledger.records(needed), unique: unique, holders: holders)
  }

  /// Stores the batch and returns the positions of its records.
  ///
  /// - Parameter start: the head before any change of the batch was stored.
  @discardableResult
  func store(
    _ batch: OperationBatch, in ledger: any LedgerTransaction, from start: Int64
  ) throws -> [Int64] {
    let written = batch.written
    try ledger.put(written)
    try ledger.put(batch.history, keeping: rules.historyLimit)
    let changes = batch.changes(written)
    var sight = VisibilityChange(rules, ledger)
    try sight.follow(changes)
    try batch.unique?.follow(changes, from: start, in: ledger)
    return written.map(\.position)
  }

  /// Returns the viewer for a user. Its lists are read only if a rule depends on them.
  func viewer(_ principal: Principal, in ledger: any LedgerSnapshot) throws -> Viewer {
    guard rules.usesSharing else { return Viewer(principal: principal) }
    var lists: Set<String> = []
    for name in principal.names { lists.formUnion(try ledger.lists(of: name)) }
    return Viewer(principal: principal, lists: lists)
  }

  /// Returns the verdict on a repetition. A conflict stays one, with the server's present version, so that a late copy
  /// changes nothing.
  private static func repeated(
    _ verdict: Outcome.Verdict, of operation: SyncOperation, _ batch: OperationBatch, _ told: inout Set<Int64>
  ) -> Outcome.Verdict {
    switch verdict {
    case .applied(let version, let modified, let record):
      if let position = Int64(version) { told.insert(position) }
      return .duplicate(version: version, modified: modified, record: record)
    case .conflict: return batch.conflict(of: operation)
    case .duplicate, .rejected, .waiting: return verdict
    }
  }

  // MARK: pages

  private func pages(
    _ request: SyncRequest, _ principal: Principal, _ ledger: any LedgerSnapshot, leavingOut told: Set<Int64>
  ) throws -> [SyncResponse.Page] {
    let viewer = try viewer(principal, in: ledger)
    var budget = PageBudget(changes: min(request.limit, rules.pageLimit), bytes: rules.answerSize)
    return try request.pulls.map { pull in
      let page = try page(pull, of: request.history, viewer, ledger, budget, leavingOut: told)
      budget.spend(page)
      return page
    }
  }

  /// Makes a page within the budget. `more` is set if it has no room for all changes.
  private func page(
    _ pull: SyncRequest.Pull, of known: ServerHistory?, _ viewer: Viewer, _ ledger: any LedgerSnapshot,
    _ budget: PageBudget, leavingOut told: Set<Int64>
  ) throws -> SyncResponse.Page {
    let rights = ScopeMark(pull.scope, viewer.principal, rules)
    let mark = rights.text
    var changedTypes: [String] = []
    var start: Int64 = 0
    var reset = pull.cursor == nil
    var isOther = try known.map { try !goesOn($0, history(of: $0.space, ledger), ledger) } ?? false
    var began: Int64? = ledger.head
    if let cursor = pull.cursor.flatMap(Cursor.init(token:)) {
      // A space without writes has no epoch yet. Its cursors are valid in the first epoch, and in no later one.
      let isFirst = cursor.epoch.isEmpty && cursor.position == 0 && !isOther
      let isSameHistory = cursor.epoch == ledger.epoch || isFirst
      let isKnown = try ledger.has(cursor.position)
      let isUsable =
        isSameHistory && max(cursor.position, cursor.began ?? 0) >= ledger.floor && isKnown
      if isUsable, let changed = rights.changed(since: cursor.scopeMark) {
        changedTypes = changed
        start = cursor.position
        began = cursor.began
      } else {
        reset = true
        isOther = isOther || !isSameHistory || !isKnown
      }
    }
    isOther = isOther && reset
    if budget.isSpent {
      let cursor = Cursor(epoch: ledger.epoch, position: start, scopeMark: mark, began: began)
      var page = SyncResponse.Page(
        scope: pull.scope, changes: [], outOfScope: [], cursor: cursor.token, more: true, reset: reset)
      page.isOtherHistory = isOther
      page.types = changedTypes
      return page
    }
    let limit = budget.changes
    let found = try ledger.changes(after: start, in: pull.scope, limit: limit + 1, bytes: budget.bytes)
    let departures =
      reset ? [] : try ledger.departures(after: start, upTo: ledger.head, from: pull.scope, limit: limit + 1)
    let notices = reset ? [] : try notices(for: viewer.principal, after: start, ledger, limit: limit + 1)
    let positions = (found.map(\.position) + departures.map(\.position) + notices.map(\.position)).sorted()
    var position = positions.count > limit ? positions[limit - 1] : ledger.head
    if budget.isReached(by: found), let last = found.last { position = min(position, last.position) }
    if let last = try end(of: notices, after: start, ledger, bytes: budget.bytes) {
      position = min(position, last)
    }
    let more = position < ledger.head
    var changes: [ServerRecord] = []
    changes.reserveCapacity(found.count)
    for entry in found {
      guard entry.position <= position else { break }
      // Tombstones let a device of another history distinguish deleted records from lost ones.
      let isLeftOut = reset && !isOther ? entry.record.isDeleted : told.contains(entry.position)
      if !isLeftOut && rules.shows(entry.record, to: viewer) { changes.append(entry.record) }
    }
    var page = SyncResponse.Page(
      scope: pull.scope, changes: changes,
      outOfScope: try gone(
        departures.filter { $0.position <= position && !told.contains($0.position) }, from: pull.scope,
        viewer,
        ledger),
      cursor: Cursor(
        epoch: ledger.epoch, position: position, scopeMark: mark, began: more ? began : nil
      ).token, more: more, reset: reset)
    page.isOtherHistory = isOther
    page.types = changedTypes
    try tell(notices.prefix { $0.position <= position }, after: start, viewer, ledger, in: &page)
    return page
  }
}

extension Outcome {
  /// Returns the outcome to remember, which is valid for every later copy of the operation. Devices send a new id for a
  /// new decision. Returns `nil` if nothing was decided because a part of the group was missing.
  fileprivate func remembered(as key: OperationKey) -> Outcome? {
    let kept: Verdict
    switch verdict {
    case .applied, .waiting: kept = verdict
    case .duplicate(let version, let modified, let record):
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
