import BothyStore

/// A change that is sent to the server alone while the local store fails, if the app allows that.
///
/// It sends the fields that differ from the row, if the row can be read, and leaves all other fields on the server. It
/// calls no merge policy. If others changed the same fields, it throws a conflict.
struct StorelessWrite: Sendable {
  let pass: SyncPass
  let change: LocalChange

  /// Sends the change with at most three round trips. Throws `CancellationError`, with nothing done, and `BothyError` if
  /// the server can't be reached, rejects the change, or has other changes of the same fields.
  func run() async throws -> SaveOutcome {
    try Task.checkCancellation()
    return try await Task { try await attempt() }.value
  }

  private func attempt() async throws -> SaveOutcome {
    let table = try pass.store.catalog.table(change.id.type)
    let (given, secrets) = try change.given(table.schema)
    if (try? await pass.store.read({ try OutboxQueue.mark(change.id, in: $0) != nil })) == true {
      throw BothyError.pendingChanges(change.id)
    }
    // If the row can't be read, the server's version is used.
    let row = (try? await pass.store.read { try $0.row(table, id: change.id.id) }) ?? nil
    let known = try row.flatMap { try $0.version == nil ? nil : table.document($0).members() }
    let seen =
      known == nil ? nil : row.map { row in row.values.indices.map { table.seen(row.values[$0], at: $0) } }
    let fields = given.filter { name, value in
      table.positions[name].flatMap { seen?[$0].json } != value
    }
    var version = row?.version
    for _ in 0..<3 {
      let operation = try operation(fields, over: version)
      switch try await send(operation, secrets) {
      case .applied(let version, _, _)?, .duplicate(let version, _, _)?:
        return .accepted(version: operation.kind == .delete ? "" : version)
      case .conflict(let current)?:
        guard let current, !current.isDeleted else {
          if change.isDeletion { return .accepted(version: "") }
          throw BothyError(
            .conflict, "Others have deleted \(change.id). Nothing was changed; try again.", record: change.id)
        }
        let there = try current.fields.members()
        if let known, fields.keys.contains(where: { there[$0] != known[$0] }) {
          throw BothyError(
            .conflict,
            "Others have changed \(change.id) where this change does. Nothing was changed; try again.",
            record: change.id)
        }
        version = current.version
      case .rejected(let rejection)?:
        throw BothyError(.rejected, rejection.message, record: change.id, rejection: rejection)
      case .waiting(let other)?:
        throw BothyError(.rejected, "The change waits for the operation \(other).", record: change.id)
      case nil:
        throw BothyError(
          .protocolViolation, "The server did not answer the operation.", record: change.id)
      }
    }
    throw BothyError(.conflict, "\(change.id) keeps being changed by others. Try again.", record: change.id)
  }

  private func operation(_ fields: [String: JSONValue], over version: String?) throws -> SyncOperation {
    let kind: ChangeKind =
      change.isDeletion ? .delete : version == nil && change.saved != nil ? .insert : .update
    let own = change.destination == change.id.type ? nil : change.destination
    return SyncOperation(
      id: pass.configuration.makeOperationID(), kind: kind, record: change.id,
      container: kind == .insert ? own : kind == .update ? change.destination : nil, base: version,
      fields: kind == .insert ? fields.filter { !$0.value.isNull } : kind == .update ? fields : [:],
      sharing: kind == .delete ? nil : change.sharing)
  }

  private func send(_ operation: SyncOperation, _ secrets: [SecretKey: String]) async throws -> Outcome
    .Verdict?
  {
    do {
      let sent = try SecretAttachment(store: pass.store).attached(
        to: [operation], and: secrets, isConfidential: pass.remote.isConfidential)
      let response = try await pass.remote.exchange(
        SyncRequest(
          device: pass.device, schemaVersion: pass.store.schema.version, operations: sent,
          principal: pass.owner?.principal))
      return response.outcomes.first?.verdict
    } catch let error as RemoteError { throw BothyError(error) }
  }
}

extension LocalChange {
  /// The change of the record's audience. For a whole audience it adds all of its members.
  fileprivate var sharing: SharingChange? {
    switch self {
    case .share(_, let change, _): change
    case .persist(_, let sharing?, _): SharingChange(add: sharing)
    case .persist, .save, .move, .delete: nil
    }
  }

  /// The container that the change moves the record to.
  fileprivate var destination: String? {
    switch self {
    case .save(_, let container): container
    case .move(_, let container): container
    case .persist(let record, _, _): record.container == record.type ? nil : record.container
    case .delete, .share: nil
    }
  }
}

extension BothyError {
  /// True if the store itself failed, and not the change that it was given.
  package var isLocalFailure: Bool {
    [.diskFull, .readOnly, .busy, .corrupt, .cannotOpen, .database].contains(code)
  }
}
