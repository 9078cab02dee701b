import BothyStore
import BothySync
import HTTPTypes
import Hummingbird

/// The changes that the page may make: records, decisions about pending work, and syncs. They use the same calls as the
/// tool.
extension InspectorRoutes {
  func addChanges(to router: some RouterMethods<some RequestContext>) {
    router.post("/api/put") { call, _ in try await put(call.members()) }
    router.post("/api/resolve") { call, _ in try await resolve(call.members()) }
    router.post("/api/journal/restore") { call, _ in try await restore(call.members()) }
    router.post("/api/sync") { _, _ in try await sync() }
    router.post("/api/pause") { _, _ in try pause(true) }
    router.post("/api/resume") { _, _ in try pause(false) }
  }

  /// Saves the fields of `{"type","id"?,"fields":{…}}`. Without an id it is a new record. Fields that aren't given stay.
  ///
  /// Responds 404 for a record that isn't here any more, because these fields alone would make another one.
  private func put(_ members: [String: JSONValue]) async throws -> Response {
    let store = subjects.store
    guard let name = members["type"]?.stringValue, let fields = members["fields"]?.objectValue else {
      throw HTTPFailure(.badRequest, "badRecord", "A record to save has a type and fields.")
    }
    let type = try RecordPage.type(name, store)
    let known = members["id"]?.stringValue
    let id = RecordID(type: type.name, id: known ?? UUIDv7.make())
    guard try known == nil || store.store.record(id) != nil else { throw Self.gone(id) }
    try await store.save(AnyRecord(type.name, id: id.id, try type.values(fields)))
    let state = try store.state(of: id).name
    watch.noteChange(
      Timeline.Moment(time: subjects.now, kind: .written, text: "\(id): saved on this page, now \(state)."))
    return .object { writer in
      writer.members(id)
      writer.member("state", state)
    }
  }

  /// Resolves `{"type","id","resolution","revision"?}`. Responds 409 if the record was edited since that revision.
  private func resolve(_ members: [String: JSONValue]) throws -> Response {
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
  private func restore(_ members: [String: JSONValue]) async throws -> Response {
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

  private func sync() async throws -> Response {
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

  private func pause(_ isPaused: Bool) throws -> Response {
    if isPaused { try subjects.store.pause() } else { try subjects.store.resume() }
    let text = isPaused ? "Syncing was paused, for every process." : "Syncing was resumed."
    watch.noteChange(Timeline.Moment(time: subjects.now, kind: .decided, text: text))
    return .object { $0.member("paused", isPaused) }
  }
}
