import BothyStore

/// Runs the merge policies on the conflicts of one answer, outside any transaction, because a custom policy may take
/// time, up to a limit. Changes nothing.
struct Conflicts: Sendable {
  let store: LocalStore
  let configuration: SyncOptions
  let clock: SyncClock

  struct Decisions: Sendable {
    /// The decisions on pushed changes, by operation id.
    var pushed: [String: PushResultApplier.ConflictDecision] = [:]
    /// The decisions on records that wait with others and that a pull brings in another version.
    var pulled: [RecordID: PushResultApplier.PullDecision] = [:]
  }

  /// - Parameter timing: says which conflicts are decided later. No policy is asked about them now.
  func decide(
    _ batch: PushBatch, _ response: SyncResponse, _ timing: ConflictTiming
  ) async throws -> Decisions {
    var decisions = Decisions()
    let items = Dictionary(batch.items.map { ($0.operation.id, $0) }, uniquingKeysWith: { $1 })
    for outcome in response.outcomes {
      guard case .conflict(let current) = outcome.verdict, let item = items[outcome.operation] else {
        continue
      }
      if let current, item.operation.group == nil, !timing.showsAll, try await isPutOff(current, timing) {
        continue
      }
      guard
        let decision = try await decide(
          item.operation.record, current, isTogether: item.operation.group != nil)
      else { continue }
      decisions.pushed[outcome.operation] = decision
    }
    for page in response.pages where timing.isShowing && !page.more {
      for conflict in try await store.read({ try PushResultApplier.pullConflicts(page, in: $0) }) {
        guard conflict.entry.operationID == nil,
          let decision = try await decide(conflict.entry.id, conflict.change, isTogether: true)
        else { continue }
        decisions.pulled[conflict.entry.id] = .init(version: conflict.change.version, decision: decision)
      }
    }
    return decisions
  }

  private func isPutOff(_ current: ServerRecord, _ timing: ConflictTiming) async throws -> Bool {
    try await store.read { transaction in
      guard let entry = try OutboxQueue.entry(current.id, in: transaction) else { return false }
      let choice = try timing.choice(current, over: entry, in: transaction) {
        guard case .success(let context)? = try Self.context(entry.id, current, false, in: transaction)?.0
        else { return nil }
        return Self.decided(context, configuration)
      }
      return choice == .afterPull
    }
  }

  private func decide(
    _ id: RecordID, _ current: ServerRecord?, isTogether: Bool
  ) async throws -> PushResultApplier.ConflictDecision? {
    let found = try await store.read { transaction in
      try Self.unreadable(id, current, in: transaction)
        ?? Self.context(id, current, isTogether, in: transaction)
    }
    guard let (context, revision) = found else { return nil }
    let result: Result<MergeDecision, any Error>
    switch context {
    case .success(let context): result = await decide(context)
    case .failure(let error): result = .failure(error)
    }
    return PushResultApplier.ConflictDecision(revision: revision, result: result)
  }

  /// Returns a failure if the server's version can't be read, because nothing can be decided against it. Otherwise
  /// returns `nil`.
  static func unreadable(
    _ id: RecordID, _ current: ServerRecord?, in transaction: ReadTransaction
  ) throws -> (Result<MergeContext, UnreadableRecord>, revision: Int64)? {
    var repaired = false
    guard let current, !current.isDeleted, let entry = try OutboxQueue.entry(id, in: transaction),
      case .failure(let found) = UnreadableTable.read(
        current, try transaction.catalog.table(id.type), repaired: &repaired)
    else { return nil }
    return (.failure(found), entry.revision)
  }

  func decide(_ context: MergeContext) async -> Result<MergeDecision, any Error> {
    if let decision = Self.decided(context, configuration) { return .success(decision) }
    guard case .custom(let decide) = Self.policy(context, configuration).decide else {
      return .success(.server)
    }
    let result = await request(decide, context)
    return result.flatMap { decision in
      MergeError(checking: decision, context).map { .failure($0) } ?? .success(decision)
    }
  }

  private static func policy(_ context: MergeContext, _ configuration: SyncOptions) -> MergePolicy {
    policy(for: context.operation, of: context.record.type, context.schema, configuration)
  }

  /// Returns the policy that decides a conflict of a change of this kind.
  static func policy(
    for kind: ChangeKind, of type: String, _ schema: TypeSchema?, _ configuration: SyncOptions
  ) -> MergePolicy {
    schema?.mergesByField == true ? .fieldByField : configuration.merging.policy(for: kind, type: type)
  }

  /// Returns the decision if it needs no policy of the app's own, or `nil`.
  static func decided(_ context: MergeContext, _ configuration: SyncOptions) -> MergeDecision? {
    if let server = context.serverFields, let base = context.base, server == base, !context.isMovedByBoth {
      return .client
    }
    // A deletion without a base is of the content that was seen here, or of any version if none was.
    if context.operation == .delete, context.base == nil, let server = context.serverFields,
      context.deleted ?? server == server
    {
      return .client
    }
    // Only the audience was changed here, which doesn't concern fields.
    if context.operation == .update, let client = context.client, client == context.base,
      context.container == context.baseContainer
    {
      return .server
    }
    // Both sides deleted the record, or made the same change, so no policy decides. A record that was changed together
    // with others may have got the same content for another reason.
    if !context.isTogether {
      if context.operation == .delete && context.serverFields == nil { return .server }
      let counts = context.schema?.fields.contains { $0.merge == .counter } ?? false
      if !counts, let client = context.client, client == context.serverFields,
        context.container == context.server?.container
      {
        return .server
      }
    }
    guard case .pure(let decide) = policy(context, configuration).decide else { return nil }
    // A save that is sent to the server first edits the server's record. Others' changes of other fields don't conflict
    // with it.
    if context.isAwaited, let merged = context.disjoint { return .merged(merged) }
    return decide(context)
  }

  /// Returns the answer of a custom policy, or a failure if the time is over. A policy that continues regardless is
  /// cancelled and not awaited.
  private func request(
    _ decide: @escaping @Sendable (MergeContext) async throws -> MergeDecision, _ context: MergeContext
  ) async -> Result<MergeDecision, any Error> {
    let limit = configuration.mergeTimeout
    let answer = await Bounded.run(within: limit, sleep: clock.sleep) {
      do { return Result<MergeDecision, any Error>.success(try await decide(context)) } catch {
        return .failure(error)
      }
    }
    if let answer { return answer }
    if Task.isCancelled { return .failure(CancellationError()) }
    return .failure(MergeError(message: "It gave no answer within \(limit)."))
  }

  static func context(
    _ id: RecordID, _ current: ServerRecord?, _ isTogether: Bool, in transaction: ReadTransaction
  ) throws -> (Result<MergeContext, UnreadableRecord>, revision: Int64)? {
    guard
      let entry = try OutboxQueue.entry(id, in: transaction).map({
        try GivenBack.merging($0, with: current, in: transaction)
      })
    else { return nil }
    let table = try transaction.catalog.table(id.type)
    if entry.isWhole && current.map({ !$0.isDeleted }) ?? false { return nil }
    let row = entry.change == .delete ? nil : try OutboxQueue.local(entry, table, in: transaction)
    var context = MergeContext(
      record: id, operation: entry.change, client: try row.map { try table.document($0).members() },
      deleted: entry.change == .delete ? try OutboxQueue.last(id, in: transaction)?.members() : nil,
      base: try entry.base.map { try $0.fields.members() }, server: current,
      serverFields: try current.flatMap { $0.isDeleted ? nil : try $0.fields.members() },
      edited: entry.editedTime, isEditTimeReliable: entry.isEditTimeReliable, isTogether: isTogether,
      schema: table.schema,
      container: row.map { $0.container ?? id.type }, baseContainer: entry.container ?? id.type)
    context.isAwaited = entry.isHidden
    context.table = table
    return (.success(context), entry.revision)
  }
}

/// The reason why a custom merge policy decided nothing: it took too long, or its result isn't a record of the type.
struct MergeError: Error, CustomStringConvertible {
  var message: String
  var description: String { message }

  init(message: String) { self.message = message }

  /// Returns `nil` if the decision can be carried out.
  init?(checking decision: MergeDecision, _ context: MergeContext) {
    guard case .merged(let fields) = decision, let schema = context.schema else { return nil }
    // Content that can't be read here is carried along as it is, whether the policy returns it or not.
    func isCarried(_ field: FieldSchema) -> Bool {
      let server = context.serverFields?[field.name] ?? .null
      let isUnread = !server.isNull && (try? FieldValue(json: server, kind: field.kind)) == nil
      return isUnread
        || [context.client, context.serverFields, context.deleted].contains {
          $0.map { $0[field.name] == fields[field.name] } ?? false
        }
    }
    for field in schema.fields
    where !field.isOptional && (fields[field.name] ?? .null).isNull && !isCarried(field) {
      self.init(
        message: "The merged record has no value for \(schema.name).\(field.name), which is required.")
      return
    }
    for (name, value) in fields.sorted(by: { $0.key < $1.key }) where !value.isNull {
      guard let field = schema[name] else {
        // A field of a later schema is carried along. A field that no side has is a mistake.
        let sides = [context.serverFields, context.client, context.deleted]
        if sides.contains(where: { $0?[name] != nil }) { continue }
        self.init(message: "The merged record has a field '\(name)', which \(schema.name) has not.")
        return
      }
      guard !value.nests(deeperThan: JSONReader.maximumValueDepth) else {
        self.init(message: "The merged record's \(schema.name).\(name) is nested too deep.")
        return
      }
      if isCarried(field) { continue }
      do { _ = try FieldValue(json: value, kind: field.kind) } catch {
        self.init(message: "The merged record's \(schema.name).\(name) does not fit: \(error)")
        return
      }
    }
    return nil
  }
}

extension Rejection {
  /// The code of an entry on which the merge policy failed. The server has rejected nothing.
  static let mergeFailed = BothyError.Code.mergeFailed.rawValue

  init(mergeError error: any Error) {
    if let found = error as? UnreadableRecord {
      self.init(
        code: BothyError.Code.unreadable.rawValue,
        message: "The server's record can't be read here. \(found.reason) Update the app, or mend the record "
          + "on the server.")
      return
    }
    self.init(code: Self.mergeFailed, message: "The merge policy failed: \(error)")
  }
}

/// Finds the conflicts between pulls and pending transactions.
extension PushResultApplier {
  /// A record that waits with others, and the version of it that a pull brings.
  struct PullConflict: Sendable {
    var entry: Outbox.Entry
    var change: ServerRecord
  }

  /// Returns the conflicts of the pages of a scope, the staged ones and the last. Costs nothing if no change is tied.
  static func pullConflicts(
    _ page: SyncResponse.Page, in transaction: ReadTransaction
  ) throws -> [PullConflict] {
    guard !page.more, try OutboxQueue.hasGroups(in: transaction) else { return [] }
    let state = try PullState.load(page.scope, in: transaction)
    let isRebasing = page.reset || state.isResetting
    var found: [RecordID: PullConflict] = [:]
    func look(_ changes: [ServerRecord]) throws {
      for change in changes {
        guard let entry = try OutboxQueue.entry(change.id, in: transaction),
          entry.group != nil || entry.sentGroup != nil || entry.isBeneath
        else { continue }
        let base = entry.base?.version ?? ""
        let differs = isRebasing ? change.version != base : change.version.isNewer(than: base)
        found[change.id] = differs ? PullConflict(entry: entry, change: change) : nil
      }
    }
    if state.staged != nil && !page.reset {
      try Stage.forEach(page.scope, in: transaction) { try look($0.changes) }
    }
    try look(page.changes)
    return Array(found.values)
  }
}
