import BothyHTTP
import BothyStore
import BothySync

/// Sends operations as conditional writes, in their order, in batches.
///
/// Kinto has no ids of operations. Each write leaves its operation's id in the record under the device's name, until
/// the same device changes the record again. A repetition that finds the id was applied before, even if other devices
/// have changed the record since.
struct KintoPush: Sendable {
  let space: KintoSpace
  let device: String
  /// The time of the device's clock, for edits without a time.
  let now: Int64

  struct Result: Sendable {
    var outcomes: [Outcome] = []
    /// The written records with their new versions, by operation.
    var written: [String: Written] = [:]
    /// The reason why some operations have no outcome. They are in doubt.
    var interruption: RemoteError?
    var serverTime: Int64?
  }

  struct Written: Sendable, Hashable {
    var record: RecordID
    var kind: ChangeKind
    var version: Int64
  }

  /// Sends the operations. Throws only if no operation has an outcome.
  func send(_ operations: [SyncOperation]) async throws(RemoteError) -> Result {
    let settings = try await space.client.serverSettings()
    guard !settings.isReadOnly else {
      throw RemoteError(
        .rejected, "This Kinto server takes no changes now. They stay pending; pull alone to read.",
        code: "readOnly")
    }
    var result = Result()
    let refusals = operations.compactMap(Self.refusal)
    let operations = refusals.isEmpty ? operations : operations.filter { Self.refusal(of: $0) == nil }
    for start in stride(from: 0, to: operations.count, by: settings.batchLimit) {
      let chunk = Array(operations[start..<min(start + settings.batchLimit, operations.count)])
      do { try await send(chunk, &result) } catch {
        guard !result.outcomes.isEmpty else { throw error }
        result.interruption = error
        return result
      }
    }
    result.outcomes += refusals
    return result
  }

  /// Returns a rejection for an operation that Kinto can't store, so that it isn't lost without notice.
  private static func refusal(of operation: SyncOperation) -> Outcome? {
    let message: String
    if operation.group != nil {
      message =
        "Kinto can't take several records together or not at all. Take the change back with `revert`, or write "
        + "the records separately."
    } else {
      let isList = operation.record.type == UserList.typeName
      guard isList || !(operation.sharing?.isEmpty ?? true) else { return nil }
      let what = isList ? "lists of users" : "sharing of single records"
      message = "Kinto knows no \(what). Take it back with `unshare` or `revert`; give rights on the bucket."
    }
    return Outcome(operation: operation.id, .rejected(Rejection(code: "unsupported", message: message)))
  }

  private func send(
    _ chunk: [SyncOperation], _ result: inout Result, isSecondTry: Bool = false
  ) async throws(RemoteError) {
    let reply: KintoClient.Reply<[KintoAnswer]>
    do { reply = try await space.client.batch(chunk.map(request)) } catch {
      // The whole batch was undone because of one operation. Each is sent alone, so that only that one fails.
      guard error.errorClass == .serverError, chunk.count > 1 else { throw error }
      for operation in chunk { try await send([operation], &result) }
      return
    }
    result.serverTime = reply.serverTime ?? result.serverTime
    let answers = Array(zip(chunk, reply.value))
    let homeless = isSecondTry ? [] : answers.filter { $0.kind == .insert && $1.lacksParent }.map(\.0)
    let isMissing = answers.contains { $0.kind == .insert && $1.status == 404 }
    let again = homeless.isEmpty ? false : try await space.make(Set(homeless.map(\.record.type))) || isMissing
    let ids = again ? Set(homeless.map(\.id)) : []
    for (operation, answer) in answers where !ids.contains(operation.id) {
      try settle(operation, answer, &result)
    }
    if again { try await send(homeless, &result, isSecondTry: true) }
  }

  private func settle(
    _ operation: SyncOperation, _ answer: KintoAnswer, _ result: inout Result
  ) throws(RemoteError) {
    if answer.status == 409 { throw KintoClient.undone(answer) }
    // A missing collection does not mean that the record was deleted. The operation stays in doubt until a pull.
    if operation.kind != .insert && answer.lacksParent { return }
    let verdict = verdict(operation, answer)
    if case .applied(let version, _, _) = verdict, let version = Int64(version) {
      result.written[operation.id] = Written(record: operation.record, kind: operation.kind, version: version)
    }
    result.outcomes.append(Outcome(operation: operation.id, verdict))
  }

  // MARK: one operation

  /// Returns the condition for a base. A base of another server isn't a timestamp, and no version here equals it.
  private static func match(_ base: String?) -> [String: String] {
    let timestamp = base.flatMap { Int64($0) } ?? 1
    return ["If-Match": "\"\(max(1, timestamp))\""]
  }

  func request(_ operation: SyncOperation) -> KintoRequest {
    let path = space.record(operation.record)
    let data = KintoRecord.members(of: operation, device: device, modified: operation.modified ?? now)
    switch operation.kind {
    case .insert:
      return KintoRequest(method: "PUT", path: path, headers: ["If-None-Match": "*"], body: ["data": data])
    case .update:
      var headers = Self.match(operation.base)
      headers["Response-Behavior"] = "light"
      return KintoRequest(method: "PATCH", path: path, headers: headers, body: ["data": data])
    case .delete: return KintoRequest(method: "DELETE", path: path, headers: Self.match(operation.base))
    }
  }

  func verdict(_ operation: SyncOperation, _ answer: KintoAnswer) -> Outcome.Verdict {
    let type = operation.record.type
    switch answer.status {
    case 200..<300:
      let record = KintoRecord(answer.body["data"], type: type)
      guard let version = answer.timestamp ?? record?.version else {
        return .rejected(
          Rejection(code: "badAnswer", message: "Kinto gave no timestamp for \(operation.record)."))
      }
      let modified = min(operation.modified ?? now, version)
      // Only the response to an insert has the whole record.
      guard operation.kind == .insert, let stored = record?.serverRecord,
        stored.fields != FieldsDocument(operation.fields)
      else { return .applied(version: String(version), modified: modified, record: nil) }
      return .applied(version: String(version), modified: modified, record: stored)
    case 412:
      guard let existing = KintoRecord(answer.body["details"]?["existing"], type: type) else {
        return .conflict(current: nil)
      }
      let current = existing.serverRecord
      guard operation.kind != .delete, existing.operation(of: device) == operation.id else {
        return .conflict(current: current)
      }
      // Our change was not based on later changes of other devices. Unless the record is exactly as it was sent, its
      // version is reported as one earlier, which matches nothing. The pull brings the current record, and the next
      // change from this device conflicts with it.
      let isAsSent = operation.kind == .insert && current.fields == FieldsDocument(operation.fields)
      let version = isAsSent ? existing.version : existing.version.subtractingClamped(1)
      return .duplicate(version: String(version), modified: current.modified, record: nil)
    case 404 where operation.kind != .insert: return .conflict(current: nil)
    default: return .rejected(answer.rejection)
    }
  }

  // MARK: what others did at the same moment

  /// Finds conflicts that Kinto missed, because it compares and writes in two steps.
  ///
  /// Two writers may both receive a success. If a record comes back with a later version and without this device's
  /// mark, its writer had not seen this device's change. It is reported as a conflict.
  func verify(_ result: inout Result, against changes: [RecordID: KintoRecord]) {
    for index in result.outcomes.indices {
      let operation = result.outcomes[index].operation
      guard let written = result.written[operation], written.kind != .delete,
        let found = changes[written.record],
        !found.isDeleted, found.version > written.version, found.operation(of: device) != operation
      else { continue }
      result.outcomes[index].verdict = .conflict(current: found.serverRecord)
    }
  }
}
