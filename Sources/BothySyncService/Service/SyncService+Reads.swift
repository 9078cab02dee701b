public import BothyStore

/// The answers to single requests: one record, a query, a digest, a validator.
extension SyncService {
  /// Returns the record or its tombstone, or `nil` if the user can't see either. Costs one look-up.
  ///
  /// A schema with conditions or lists costs the look-ups of the user's memberships too. A forgotten tombstone is
  /// `nil`.
  public func record(space: String, user: Caller, _ id: RecordID) async throws -> ServerRecord? {
    try await storage.read(space: space) { storage in
      let found = try storage.records([id])[id]?.record
      guard let found, rules.shows(found, to: try viewer(user, in: storage)) else { return nil }
      return found.sent
    }
  }

  /// Applies one operation without a device and without remembering its id. Conflicts and rejections are verdicts, not
  /// errors.
  ///
  /// A repetition is decided again, so an insert is then a conflict with its own record. With a rule for writes it
  /// costs one read more than the transaction. If fields were stored in another form than sent, the verdict has the
  /// record.
  ///
  /// - Throws: `WriteRuleUnavailable` like `sync`, and the storage's errors. Nothing was changed then.
  public func perform(space: String, user: Caller, _ operation: SyncOperation) async throws
    -> Outcome.Verdict
  {
    let now = now()
    let sent = operation
    let operation = rules.canonical(sent)
    try await keepBlobs(namedBy: [operation], in: space)
    let verdict = try await deciding([operation], space, user, at: now) { storage, decisions in
      var batch = try batch(of: [operation], user, now, storage, completing: nil, decisions)
      _ = try batch.apply(operation)
      return batch.undecided
    } write: { storage, decisions -> WriteAttempt<Outcome.Verdict> in
      let start = storage.head
      var batch = try batch(of: [operation], user, now, storage, completing: storage, decisions)
      let verdict = try batch.apply(operation)
      guard batch.undecided.isEmpty else { return .undecided(batch.undecided) }
      // An earlier call may have made the same change.
      if try store(batch, in: storage, from: start).isEmpty, verdict.isApplied { storage.confirm() }
      guard operation.fields != sent.fields, case .applied(let version, let modified, nil) = verdict else {
        return .done(verdict)
      }
      // The caller doesn't know the form in which its values are stored.
      return .done(.applied(version: version, modified: modified, record: batch.record(operation.record)))
    }
    if operation.kind == .delete, verdict.isApplied { await removeSecrets(of: [operation.record], in: space) }
    await removeCleared(by: operation, verdict, in: space)
    return verdict
  }

  /// The most parts of a scope's digest.
  ///
  /// A request for more gets this number.
  public static let partLimit = 4096

  /// Returns the digest of the records of a scope that the user may see, and of each of `parts` parts. Reads all of
  /// them, and few others.
  package func digest(
    space: String, user: Caller, _ scope: SyncScope, parts: Int = 0
  ) async throws -> ScopeDigest {
    let parts = max(0, min(parts, Self.partLimit))
    return try await storage.search(space: space, within: rules.scanTime) { storage in
      let viewer = try viewer(user, in: storage)
      var sum = DigestSum(parts: parts)
      try forEachVisibleRecord(in: scope, viewer, storage) { entry in
        sum.add(entry.record.id, fields: entry.record.fields.bytes)
      }
      return sum.digest(of: scope, position: storage.head)
    }
  }

  /// Returns the ids, versions and hashes of the records in some parts of a scope. Reads like `digest`.
  ///
  /// - Throws: `SyncServiceError` `.answerTooLarge` if they have more bytes than `AccessRules.answerSize`.
  package func stamps(
    space: String, user: Caller, _ scope: SyncScope, parts: Int, in chosen: [Int]
  ) async throws -> [RecordStamp] {
    let chosen = Set(chosen)
    return try await storage.search(space: space, within: rules.scanTime) { storage in
      let viewer = try viewer(user, in: storage)
      var stamps: [RecordStamp] = []
      var budget = ListBudget(bytes: rules.answerSize, advice: "Ask for fewer parts, or divide it into more.")
      try forEachVisibleRecord(in: scope, viewer, storage) { entry in
        let record = entry.record
        guard chosen.contains(record.id.part(of: parts)) else { return }
        try budget.spend(
          names: record.id.type.utf8.count + record.id.id.utf8.count + record.version.utf8.count)
        let hash = DigestSum.hash(record.id, fields: record.fields.bytes)
        stamps.append(RecordStamp(id: record.id, version: record.version, hash: hash))
      }
      return stamps
    }
  }

  /// Returns a text for `ETag` and 304, which changes with every record of the scope that the user may see.
  ///
  /// If the schema hides records from the user, the text changes with every record of the space that it may see. Of the
  /// others, those of types whose readers a condition decides change it too, and so do the rights of the user then.
  /// Without such a schema, lists of other users in a container change it too, and so does the deletion of tombstones.
  /// It never becomes one of before, and has no quotation marks. Costs a few look-ups.
  public func validator(space: String, user: Caller, _ scope: SyncScope) async throws -> String {
    try await storage.read(space: space) { storage in
      let viewer = try viewer(user, in: storage)
      let filter = rules.visibility(of: viewer)
      let isWhole = scope.container.isEmpty && scope.includesChildren
      let position =
        rules.hidesTypes(filter) || isWhole
        ? try storage.position(seenBy: filter) : try max(storage.position(of: scope), storage.floor)
      // The first change of a space begins its epoch, and may be a hidden one.
      let text = position == 0 ? "0" : "\(storage.epoch).\(position)"
      return rules.conditions.decideVisibility ? text + "." + rules.conditions.mark(for: viewer) : text
    }
  }

  /// Returns a text that changes with every record of the space that the user may see, and with no other. Returns `nil`
  /// if the schema hides no records from the user. Costs a few look-ups.
  package func visibleState(space: String, user: Caller) async throws -> String? {
    guard rules.hidesTypes(rules.visibility(of: Viewer(user: user))) else { return nil }
    return try await validator(space: space, user: user, .everything)
  }
}
