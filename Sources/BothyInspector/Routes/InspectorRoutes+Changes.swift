import BothyStore
import BothySync
import HTTPTypes

/// The changes that the page may make: decisions about pending work, and syncs. They use the same calls as the tool.
extension InspectorRoutes {
  func change(_ call: InspectorCall) async throws -> Answer? {
    switch call.path {
    case "/api/resolve": return try await resolve(call.members())
    case "/api/journal/restore": return try await restore(call.members())
    case "/api/sync": return try await sync()
    case "/api/pause": return try pause(true)
    case "/api/resume": return try pause(false)
    default: return nil
    }
  }

  /// Resolves `{"type","id","resolution","revision"?}`. Responds 409 if the record was edited since that revision.
  private func resolve(_ members: [String: JSONValue]) throws -> Answer {
    let store = subjects.store
    guard let type = members["type"]?.stringValue, let id = members["id"]?.stringValue,
      let resolution = members["resolution"]?.stringValue.flatMap(Outbox.Decision.init(rawValue:))
    else {
      throw HTTPFailure(
        .badRequest, "badDecision",
        "A decision names a record and one of \(Outbox.Decision.allCases.map(\.rawValue).joined(separator: ", "))."
      )
    }
    let record = RecordID(type: type, id: id)
    guard try store.resolve(record, resolution, revision: members["revision"]?.intValue) else {
      throw HTTPFailure(
        .conflict, "editedSince", "\(record) was edited since this was shown. Look at it again, then decide.")
    }
    let state = try store.state(of: record).name
    watch.noteChange(
      Timeline.Moment(
        time: subjects.now, kind: .decided, text: "\(record): \(resolution.rawValue), now \(state)."))
    return .object { writer in
      writer.members(record)
      writer.member("resolution", resolution.rawValue)
      writer.member("state", state)
    }
  }

  /// Restores the entry of `{"number"}`. Responds 409 if it was restored before, can't be restored, or was deleted.
  private func restore(_ members: [String: JSONValue]) async throws -> Answer {
    guard let number = members["number"]?.intValue else {
      throw HTTPFailure(.badRequest, "badDecision", "A restoring names the decision by its number.")
    }
    let receipt: SaveReceipt<AnyRecord>
    do { receipt = try await subjects.store.journal.restore(number) } catch let error as BothyError
      where [.expired, .alreadyRestored, .notRestorable, .notPending, .pendingChanges].contains(error.code)
    {
      throw HTTPFailure(.conflict, error.code.description, error.message)
    }
    let state = try subjects.store.state(of: receipt.record).name
    watch.noteChange(
      Timeline.Moment(
        time: subjects.now, kind: .decided, text: "\(receipt.record): restored, now \(state)."))
    return .object { writer in
      writer.members(receipt.record)
      writer.member("number", number)
      writer.member("state", state)
    }
  }

  private func sync() async throws -> Answer {
    guard subjects.server != nil else { throw Self.noServer }
    guard try !subjects.store.isPausedInFile() else {
      throw HTTPFailure(
        .conflict, "paused", "Syncing is paused, maybe by another process. Resume it, then sync.")
    }
    let report = await subjects.store.sync()
    watch.noteChange(Timeline.Moment(report, at: subjects.now))
    return .object { writer in
      report.writeMembers(to: &writer)
      writer.member("why", report.stop.map { BothyError($0).message })
    }
  }

  private func pause(_ isPaused: Bool) throws -> Answer {
    if isPaused { try subjects.store.pause() } else { try subjects.store.resume() }
    let text = isPaused ? "Syncing was paused, for every process." : "Syncing was resumed."
    watch.noteChange(Timeline.Moment(time: subjects.now, kind: .decided, text: text))
    return .object { $0.member("paused", isPaused) }
  }
}
