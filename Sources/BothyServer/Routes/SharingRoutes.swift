import BothyStore
import BothySyncService
import HTTPTypes

/// The routes of one record's audience.
extension ServerServices {
  func sharingRoutes() -> [Route] {
    [
      Route(
        method: .post, pattern: "/v1/spaces/{space}/records/{type}/{id}/share", operation: "shareRecord",
        summary: "Lets users and the caller's own lists see the record, or shuts them out.",
        parameters: [.ifMatch], body: .init(schema: "SharingChange"),
        answers: [.init(status: 200, about: "The record as it is now.", schema: "Record", headers: ["ETag"])],
        problems: [409, 410, 412, 422], handle: share)
    ]
  }

  private func share(_ call: ServerContext) async throws -> ServerResponse {
    let preconditions = try Preconditions(call.headers)
    let change = try call.parseBody { try JSONReader.read($0) { try SharingChange(from: &$0) } }
    let found = try await current(call)
    guard var record = found, !record.isDeleted else { throw Self.absent(found) }
    guard preconditions.matches(record.version) else { throw Self.preconditionFailed }
    let operation = SyncOperation(
      id: "http", kind: .update, record: record.id, base: record.version, sharing: change)
    let done = try await perform(call, operation, preconditions)
    record.version = done.version
    record.sharing = change.applied(to: record.sharing)
    return Self.answer(done.record ?? record)
  }
}
