import BothyStore
import BothySyncService
import HTTPTypes

/// The routes of one record by its address, and reading.
extension ServerServices {
  private static let pattern = "/v1/spaces/{space}/records/{type}/{id}"

  func recordRoutes() -> [Route] {
    [
      Route(
        method: .get, pattern: Self.pattern, operation: "getRecord", summary: "The record.",
        parameters: [.ifMatch, .ifNoneMatch],
        answers: [
          .init(status: 200, about: "The record.", schema: "Record", headers: ["ETag"]),
          .init(status: 304, about: "The caller has it.", headers: ["ETag"]),
        ],
        problems: [410, 412], handle: getRecord),
      Route(
        method: .put, pattern: Self.pattern, operation: "putRecord",
        summary: "Creates the record, or replaces all its fields: then If-Match is required.",
        parameters: [.ifMatch, .ifNoneMatch], body: .init(schema: "RecordInput"),
        answers: [
          .init(status: 200, about: "The record as it is now.", schema: "Record", headers: ["ETag"]),
          .init(status: 201, about: "The new record.", schema: "Record", headers: ["ETag", "Location"]),
        ],
        problems: [409, 412, 422, 428], handle: putRecord),
      Route(
        method: .patch, pattern: Self.pattern, operation: "patchRecord",
        summary: "Merges a JSON merge patch (RFC 7396) into the fields. If-Match is required.",
        parameters: [.ifMatch, .ifNoneMatch],
        body: .init(schema: "FieldsPatch", types: ["application/merge-patch+json", ServerResponse.jsonType]),
        answers: [.init(status: 200, about: "The record as it is now.", schema: "Record", headers: ["ETag"])],
        problems: [409, 410, 412, 422, 428], handle: patchRecord),
      Route(
        method: .delete, pattern: Self.pattern, operation: "deleteRecord",
        summary: "Deletes the record and leaves a tombstone. If-Match is required.",
        parameters: [.ifMatch, .ifNoneMatch],
        answers: [.init(status: 204, about: "It is deleted.")],
        problems: [409, 410, 412, 428], handle: deleteRecord),
    ]
  }

  private func getRecord(_ call: ServerContext) async throws -> ServerResponse {
    let preconditions = try Preconditions(call.headers)
    let record = try await current(call)
    guard let record, !record.isDeleted else { throw Self.absent(record) }
    guard preconditions.matches(record.version) else { throw Self.preconditionFailed }
    guard preconditions.noneMatches(record.version) else {
      return ServerResponse(.notModified, headers: [.eTag: "\"\(record.version)\""])
    }
    return Self.answer(record)
  }

  /// Returns the server's record, a tombstone included, or `nil` if the caller can't see it.
  func current(_ call: ServerContext) async throws -> ServerRecord? {
    try await service.record(space: call.space, user: call.user, call.recordID)
  }

  static func answer(_ record: ServerRecord, status: HTTPResponse.Status = .ok) -> ServerResponse {
    var writer = JSONWriter(reserving: record.fields.bytes.count + 256)
    record.write(to: &writer)
    return .json(writer.bytes, status: status, headers: [.eTag: "\"\(record.version)\""])
  }

  static let preconditionFailed = HTTPFailure(
    .preconditionFailed, "preconditionFailed", "The record is not in the state that the request requires.")

  static func absent(_ tombstone: ServerRecord?) -> HTTPFailure {
    guard tombstone != nil else { return .notFound }
    return HTTPFailure(.gone, "gone", "The record was deleted.")
  }
}

extension ServerContext {
  var recordID: RecordID { RecordID(type: names["type"] ?? "", id: names["id"] ?? "") }
}
