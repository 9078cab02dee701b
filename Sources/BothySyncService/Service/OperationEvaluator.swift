import BothyStore

/// Decides one operation from the server's record. Pure: its arguments are its only input.
package struct OperationEvaluator {
  let rules: AccessRules
  var viewer: Viewer
  /// The server's clock.
  let now: Int64

  /// - Parameter lists: The lists that the user is a member of.
  package init(rules: AccessRules, user: Caller, lists: Set<String> = [], now: Int64) {
    self.init(rules: rules, viewer: Viewer(user: user, lists: lists), now: now)
  }

  init(rules: AccessRules, viewer: Viewer, now: Int64) {
    self.rules = rules
    self.viewer = viewer
    self.now = now
  }

  package enum Decision: Equatable {
    /// The record is stored. The caller assigns its version and position.
    case store(ServerRecord, fieldsDiffer: Bool)
    /// The server has an equal record already.
    case unchanged(ServerRecord)
    case conflict(ServerRecord?)
    case reject(Rejection)
    /// The id belongs to a record that the user may not see, or to a list that is gone and that records are still shared
    /// with. The record is valid except for its id.
    case taken(ServerRecord)
  }

  /// | server has        | insert             | update           | delete    |
  /// |-------------------|--------------------|------------------|-----------|
  /// | nothing           | store              | conflict         | conflict  |
  /// | a tombstone       | store              | conflict         | conflict  |
  /// | the base version  | (no base) conflict | store            | tombstone |
  /// | another version   | conflict           | conflict         | conflict  |
  ///
  /// An insert with a base restores a record that the server had lost. A deletion after that position is a conflict.
  ///
  /// The audience is part of an operation and changes with it. A change of the audience alone is an update without
  /// fields. A record that is recreated over its tombstone keeps its owner and audience.
  ///
  /// A record that is hidden from the user counts as missing, and answers don't reveal it. Only its id can't be used
  /// twice, so an otherwise valid insert is rejected. An update of a missing record is rejected if the type has hidden
  /// records, because the user may have lost access to it.
  ///
  /// Conditions in the place of permissions decide on the record before an update or deletion, and on the record after
  /// an insert or update, before it is stored.
  ///
  /// An update of the base version without an effect is `unchanged`. An update of another version is a conflict even
  /// then, because two devices that each counted up send equal numbers.
  ///
  /// A user that a list names may leave it at any version, without seeing it. Each operation of a user that may only read
  /// is rejected.
  ///
  /// - Parameter isAmended: true for an accepted operation whose fields the team's rule has set since. The user's
  ///   permissions don't concern these.
  package func decide(
    _ operation: SyncOperation, current: ServerRecord?, isAmended: Bool = false
  ) throws -> Decision {
    if viewer.user.isReader { return .reject(forbidden(operation)) }
    if leavesList(operation) { return try leaveList(operation, current) }
    let isHidden = current.map { !rules.shows($0, to: viewer) } ?? false
    let current = isHidden ? nil : current?.sent
    let refusal = isAmended ? rules.sensitiveInClear(operation) : refusal(of: operation, seen: current)
    if let rejection = refusal { return .reject(rejection) }
    if let rejection = Rejection(tooDeep: operation.fields, of: operation.record.type) {
      return .reject(rejection)
    }
    let live = current.flatMap { $0.isDeleted ? nil : $0 }
    switch operation.kind {
    case .insert:
      let decision = try insert(operation, live, current, isAmended: isAmended)
      if isHidden, case .store(let record, _) = decision { return .taken(record) }
      return decision
    case .update: return try update(operation, live, current, isAmended: isAmended)
    case .delete: return delete(operation, live, current)
    }
  }

  private func insert(
    _ operation: SyncOperation, _ live: ServerRecord?, _ current: ServerRecord?, isAmended: Bool
  ) throws -> Decision {
    let sent = operation.fields.filter { !$0.value.isNull }
    let fields = rules.withDefaults(sent, of: operation.record.type)
    if let problem = rules.problem(with: fields, of: operation.record.type) { return .reject(problem) }
    let document = FieldsDocument(fields)
    if let live { return .conflict(live) }
    if let current, let base = operation.base, current.version.isNewer(than: base) {
      return .conflict(current)
    }
    if let tooLarge = tooLarge(document) { return .reject(tooLarge) }
    let record = ServerRecord(
      id: operation.record, container: operation.container, version: "", modified: time(operation),
      created: time(operation), owner: current?.owner ?? viewer.user.name, fields: document,
      sharing: shared(operation, current?.sharing ?? .nobody))
    if !isAmended, let refusal = refusal(of: operation, creating: record) { return .reject(refusal) }
    // The device receives the fields that it can't know of a record that was deleted before.
    let isOthers = !record.owner.isSameName(as: viewer.user.name)
    return .store(
      record, fieldsDiffer: fields.count != sent.count || !(current?.sharing ?? .nobody).isEmpty || isOthers)
  }

  private func update(
    _ operation: SyncOperation, _ live: ServerRecord?, _ current: ServerRecord?, isAmended: Bool
  ) throws -> Decision {
    guard var record = live else { return .conflict(current) }
    guard operation.base == record.version else { return .conflict(record) }
    let type = operation.record.type
    let before = try record.fields.members()
    var fields = rules.canonical(before, of: type)
    fields.merge(operation.fields) { $1 }
    // A value from before the field was sensitive is replaced by the secret.
    for name in operation.secrets.values.keys { fields[name] = nil }
    fields = rules.withDefaults(fields.filter { !$0.value.isNull }, of: type, isNew: false)
    let document = FieldsDocument(fields)
    let container = operation.container ?? record.container
    let sharing = shared(operation, record.sharing)
    let isEdited = document != record.fields || !container.hasSameBytes(as: record.container)
    if !isEdited && sharing == record.sharing { return .unchanged(record) }
    if let problem = rules.problem(with: fields, of: type) { return .reject(problem) }
    if let tooLarge = tooLarge(document) { return .reject(tooLarge) }
    // The device receives the record if aliases were replaced or a default was filled in.
    let fieldsDiffer = fields.contains { name, value in (operation.fields[name] ?? before[name]) != value }
    if isEdited { record.modified = time(operation) }
    record.fields = document
    record.container = container
    record.sharing = sharing
    if isEdited, !isAmended, !allowsBecoming(record) { return .reject(forbidden(operation)) }
    return .store(record, fieldsDiffer: fieldsDiffer)
  }

  private func delete(_ operation: SyncOperation, _ live: ServerRecord?, _ current: ServerRecord?) -> Decision
  {
    guard var record = live else { return .conflict(current) }
    guard operation.base == record.version else { return .conflict(record) }
    record.isDeleted = true
    record.fields = rules.fieldsOfTombstone(record)
    record.modified = time(operation)
    return .store(record, fieldsDiffer: false)
  }

  /// Returns the verdict on a later copy of a conflicting operation: the present version, if the user may see it.
  func conflict(of operation: SyncOperation, current: ServerRecord?) -> Outcome.Verdict {
    if leavesList(operation) { return .conflict(current: nil) }
    let seen = current.flatMap { rules.shows($0, to: viewer) ? $0.sent : nil }
    if let rejection = refusal(of: operation, seen: seen) { return .rejected(rejection) }
    if operation.kind == .insert, current != nil, seen == nil { return .rejected(forbidden(operation)) }
    return .conflict(current: seen)
  }

  func forbidden(_ operation: SyncOperation) -> Rejection {
    Rejection(
      code: "forbidden",
      message: "You may not \(operation.kind.rawValue) this record of \(operation.record.type).")
  }

  /// Returns true if a type may have records that the viewer can't see.
  private func hidesSome(_ type: String) -> Bool {
    !rules.allows(.read, type, viewer, owner: nil, sharing: .nobody)
  }

  /// Returns the reason why the user may not make the change, whatever the versions are.
  ///
  /// - Parameter current: the server's record, if the user may see it.
  private func refusal(of operation: SyncOperation, seen current: ServerRecord?) -> Rejection? {
    let type = operation.record.type
    if let problem = Self.badName(operation) { return problem }
    if !operation.secrets.isEmpty && rules.receiveSecrets == nil {
      return Rejection(
        code: "secretsRefused", message: "This server has no place for the sensitive fields of \(type).")
    }
    if let refusal = rules.unfitSecrets(operation) ?? rules.sensitiveInClear(operation) { return refusal }
    let action: AccessAction =
      switch operation.kind {
      case .insert: .create
      case .update: .update
      case .delete: .delete
      }
    // A new record belongs to its creator. A record without an owner belongs to none.
    let owner = current.map(\.owner) ?? viewer.user.name
    let sharing = current?.sharing ?? .nobody
    let isAbsent = operation.kind == .update && current == nil && hidesSome(type)
    if isAbsent || !allows(action, type, current, owner: owner, sharing) && !onlyShares(operation) {
      return forbidden(operation)
    }
    return refusalOfSharing(operation, current, owner: owner, sharing)
  }

  func onlyShares(_ operation: SyncOperation) -> Bool {
    operation.kind == .update && operation.fields.isEmpty && operation.container == nil
      && operation.sharing != nil
  }

  private func shared(_ operation: SyncOperation, _ sharing: Audience) -> Audience {
    operation.sharing?.applied(to: sharing) ?? sharing
  }

  /// Checks a change of the audience. A user in it may always remove itself, whatever the permissions are.
  private func refusalOfSharing(
    _ operation: SyncOperation, _ current: ServerRecord?, owner: String?, _ sharing: Audience
  ) -> Rejection? {
    guard let change = operation.sharing, changesAudience(operation) else { return nil }
    let type = operation.record.type
    let names = change.add.users.union(change.add.lists)
    guard names.allSatisfy({ (1...512).contains($0.utf8.count) && !$0.utf8.contains(0) && $0.isNormalName }),
      change.applied(to: sharing).count <= FixedLimits.audience
    else {
      return Rejection(
        code: "invalidSharing",
        message:
          "A record is shared with at most \(FixedLimits.audience) names, each of 1 to 512 bytes in Unicode's "
          + "normal form C (NFC).")
    }
    if rules.conditions[.share, type] != nil {
      return allows(.share, type, current, owner: owner, sharing) ? nil : mayNotShare(type)
    }
    guard rules.allows(.share, type, viewer, owner: owner, sharing: sharing) else {
      return mayNotShare(type)
    }
    return nil
  }

  /// Returns true if an operation changes the audience otherwise than by leaving it.
  private func changesAudience(_ operation: SyncOperation) -> Bool {
    guard let change = operation.sharing, operation.kind != .delete else { return false }
    return change != leaving && !change.isEmpty
  }

  private func mayNotShare(_ type: String) -> Rejection {
    Rejection(
      code: "forbidden", message: "You may not share this record of \(type).",
      fields: [
        .init(field: "sharing", code: "forbidden", message: "The type's permissions say who may share.")
      ])
  }

  // MARK: conditions

  /// Returns true if the permissions allow the action on the record as it is. A condition isn't decided on a missing or
  /// deleted record: an insert is decided later, and other operations on it are conflicts.
  private func allows(
    _ action: AccessAction, _ type: String, _ current: ServerRecord?, owner: String?, _ sharing: Audience
  ) -> Bool {
    guard rules.conditions[action, type] != nil else {
      return rules.allows(action, type, viewer, owner: owner, sharing: sharing)
    }
    guard action != .create, let current, !current.isDeleted else { return true }
    return rules.decision(action, on: current, viewer) ?? false
  }

  /// Returns the reason why a condition refuses the new record of an insert.
  private func refusal(of operation: SyncOperation, creating record: ServerRecord) -> Rejection? {
    if rules.decision(.create, on: record, viewer) == false { return forbidden(operation) }
    if changesAudience(operation), rules.decision(.share, on: record, viewer) == false {
      return mayNotShare(operation.record.type)
    }
    return nil
  }

  /// Returns true if the user may give a record these values.
  private func allowsBecoming(_ record: ServerRecord) -> Bool {
    rules.conditions.ofResult(record.id.type)?.allows(record, viewer, rules) ?? true
  }

  private static func badName(_ operation: SyncOperation) -> Rejection? {
    let type = operation.record.type
    let id = operation.record.id
    let container = operation.container ?? ""
    guard (1...FixedLimits.typeName).contains(type.utf8.count),
      (1...FixedLimits.recordID).contains(id.utf8.count),
      container.utf8.count <= FixedLimits.containerPath,
      !id.utf8.contains(0), !type.utf8.contains(0), !container.utf8.contains(0),
      !Self.hasEmptyPart(container)
    else {
      return Rejection(
        code: "invalidName",
        message: "A type has 1 to 64 bytes, an id 1 to 512, a container path up to 512 with no empty part, "
          + "none with a zero byte.")
    }
    if operation.kind == .insert, type == UserList.typeName, !id.isNormalName {
      return Rejection(
        code: "invalidName", message: "The id of a list is in Unicode's normal form C (NFC).")
    }
    return nil
  }

  private static func hasEmptyPart(_ container: String) -> Bool {
    !container.isEmpty
      && container.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        .contains(where: \.isEmpty)
  }

  private func tooLarge(_ document: FieldsDocument) -> Rejection? {
    guard document.bytes.count > rules.recordSizeLimit else { return nil }
    return Rejection(
      code: "tooLarge",
      message: "The record has \(document.bytes.count) bytes; this server takes \(rules.recordSizeLimit). "
        + "Keep large values in blobs.")
  }

  /// Returns the editor's time, never later than the server's own nor before 1970.
  func time(_ operation: SyncOperation) -> Int64 { max(0, min(operation.modified ?? now, now)) }
}
