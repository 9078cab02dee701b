import BothyStore
import BothySyncService
import HTTPTypes
import Logging

/// The routes of a device's sync, and of the page of changes for other callers.
extension ServerServices {
  func syncRoutes() -> [Route] {
    [
      Route(
        method: .post, pattern: "/v1/spaces/{space}/sync", operation: "sync",
        summary: "Carries out a device's operations and answers with pages of changes, in one transaction.",
        startsAsPull: true, body: .init(schema: "SyncRequest"),
        answers: [
          .init(
            status: 200, about: "An outcome for each operation, a page for each pull.", schema: "SyncResponse"
          )
        ],
        problems: [409, 422], handle: sync),
      Route(
        method: .get, pattern: "/v1/spaces/{space}/changes", operation: "changes",
        summary: "One page of changes after a cursor, in position order.",
        parameters: [
          .container, .children,
          .init(
            name: "cursor", place: .query, schema: #"{"type":"string"}"#,
            about: "The cursor of the page before; without it, from the start."),
          .init(
            name: "limit", place: .query, schema: #"{"type":"integer","minimum":1}"#,
            about: "The most changes wanted."),
        ],
        answers: [.init(status: 200, about: "A page.", schema: "Page")], handle: changes),
    ]
  }

  private func sync(_ call: ServerContext) async throws -> ServerResponse {
    let request = try call.parseBody { try SyncRequest(decoding: $0) }
    if !request.operations.isEmpty || request.oldestOpen != nil { try await call.turn?.move(to: .push) }
    let response = try await service(within: call.room).sync(
      space: call.space, user: call.user, request)
    if !response.outcomes.isEmpty {
      metrics.operations(response.outcomes)
      audit.refused(response.outcomes, call.subject)
      let wrote = response.outcomes.contains { outcome in
        if case .applied = outcome.verdict { true } else { false }
      }
      if wrote { notifications.publish(space: call.space) }
    }
    await acknowledge(request, call)
    return .json(response.encoded())
  }

  /// Records the progress of the device now and then, in a slot of pushes, as it waits for other writes. A failure
  /// doesn't matter to the device.
  private func acknowledge(_ request: SyncRequest, _ call: ServerContext) async {
    guard request.pulls.contains(where: { $0.cursor != nil }),
      acknowledgements.isDue(space: call.space, device: DeviceName(request.device, of: call.user), at: now())
    else { return }
    // A pull that waits for a write in its own slot holds up those of others. If no other is free, the next pull does it.
    guard call.turn?.moveNow(to: .push) ?? true else {
      return acknowledgements.forget(
        space: call.space, device: DeviceName(request.device, of: call.user))
    }
    do {
      if try await service.acknowledge(space: call.space, user: call.user, request) { return }
      acknowledgements.forget(space: call.space, device: DeviceName(request.device, of: call.user))
    } catch {
      logger.warning(
        "how far a device is was not noted",
        metadata: AuditLog.metadata(call.subject, ["error": "\(LogText.safe("\(error)"))"]))
    }
  }

  private func changes(_ call: ServerContext) async throws -> ServerResponse {
    var request = SyncRequest(device: "http", schemaVersion: service.rules.minimumSchemaVersion)
    request.pulls = [.init(try call.query.scope(), cursor: call.query["cursor"])]
    if let limit = try call.query.positive("limit") { request.limit = limit }
    let response = try await service(within: call.room).sync(
      space: call.space, user: call.user, request)
    var writer = JSONWriter(reserving: 4096)
    for page in response.pages { page.write(to: &writer) }
    return .json(writer.bytes)
  }
}
