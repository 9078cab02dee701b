import BothyStore

/// One change sent to the server with no help of the local store, which has just failed: from the change and the
/// server's answers alone. Nothing of it is kept here.
struct BareWrite: Sendable {
  let pass: SyncPass
  let change: LocalChange

  /// Returns the version of what was made. Throws `RemoteError` or `SyncError`.
  func run() async throws -> String {
    var current: ServerRecord?
    for _ in 0..<5 {
      let request = SyncRequest(
        device: pass.device, schemaVersion: pass.store.schema.version, operations: [try operation(current)],
        principal: pass.owner?.principal)
      guard let verdict = try await pass.remote.exchange(request).outcomes.first?.verdict else {
        throw SyncError(.protocolViolation, "The server did not answer the operation.", record: change.id)
      }
      switch verdict {
      case .applied(let version, _, _), .duplicate(let version, _, _): return version
      case .rejected(let rejection):
        throw SyncError(.rejected, rejection.message, record: change.id, rejection: rejection)
      case .waiting(let other):
        throw SyncError(.rejected, "The change waits for the operation \(other).", record: change.id)
      case .conflict(let found):
        let live = found.flatMap { $0.isDeleted ? nil : $0 }
        if live == nil && change.isDeletion { return found?.version ?? "" }
        if live == nil && change.saved == nil {
          throw SyncError(.conflict, "The server has no \(change.id) to change.", record: change.id)
        }
        current = live
      }
    }
    throw SyncError(.conflict, "\(change.id) keeps being changed by others. Try again.", record: change.id)
  }

  private func operation(_ current: ServerRecord?) throws -> Operation {
    var fields: [String: JSONValue] = [:]
    if let record = change.saved {
      let table = try pass.store.catalog.table(record.type)
      let given = try table.members(StoredRow(values: record.values(for: table.schema)))
      let known = try current?.fields.members()
      fields = given.filter { known?[$0.key] != $0.value }
    }
    let kind: Operation.Kind =
      change.isDeletion ? .delete : current == nil && change.saved != nil ? .insert : .update
    return Operation(
      id: pass.configuration.makeOperationID(), kind: kind, record: change.id,
      container: kind == .insert ? change.saved?.container : change.destination, base: current?.version,
      fields: fields, sharing: change.sharing(over: current?.sharing ?? .nobody))
  }
}

extension LocalChange {
  var isDeletion: Bool { if case .delete = self { true } else { false } }

  /// The record that the change saves.
  var saved: Record? {
    switch self {
    case .save(let record, _), .persist(let record, _, _): record
    case .move, .delete, .share: nil
    }
  }

  /// What the change makes of the sharing that the server has.
  fileprivate func sharing(over known: Sharing) -> SharingChange? {
    switch self {
    case .share(_, let change, _): change
    case .persist(_, let sharing?, _): SharingChange(from: known, to: sharing)
    case .persist, .save, .move, .delete: nil
    }
  }

  /// The container that the change moves the record to.
  var destination: String? {
    switch self {
    case .save(_, let container): container
    case .move(_, let container): container
    case .persist(let record, _, _): record.container == record.type ? nil : record.container
    case .delete, .share: nil
    }
  }
}

extension StoreError {
  /// Whether the store itself failed, and not the change that it was given.
  var isLocalFailure: Bool {
    [.diskFull, .readOnly, .busy, .corrupt, .cannotOpen, .database, .cancelled].contains(code)
  }
}
