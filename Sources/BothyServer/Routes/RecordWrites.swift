import BothyStore
import BothySyncService
import HTTPTypes

import struct Foundation.CharacterSet

/// Writes one record by its address, under the conditions of RFC 9110.
///
/// Each write reads the record, checks the conditions, and changes just that version. A change in between is a
/// conflict, never an overwrite.
extension ServerServices {
  func putRecord(_ call: ServerContext) async throws -> ServerResponse {
    let preconditions = try Preconditions(call.headers)
    let input = try call.parseBody { try RecordInput(decoding: $0) }
    try input.check(against: call.recordID)
    let found = try await current(call)
    let live = found.flatMap { $0.isDeleted ? nil : $0 }
    guard preconditions.matches(live?.version), preconditions.noneMatches(live?.version) else {
      throw Self.preconditionFailed
    }
    guard let live else { return try await create(call, input, preconditions) }
    guard preconditions.ifMatch != nil else { throw Self.preconditionRequired }
    var changes = input.fields
    for name in try live.fields.members().keys where changes[name] == nil { changes[name] = .null }
    return try await update(call, live, changes, movedTo: input.container, preconditions)
  }

  func patchRecord(_ call: ServerContext) async throws -> ServerResponse {
    let preconditions = try Preconditions(call.headers)
    let patch = try call.parseBody { try JSONValue(parsing: $0) }
    guard let changes = patch.objectValue else {
      throw HTTPFailure(.unprocessableContent, "invalid", "A merge patch of fields is a JSON object.")
    }
    let live = try await required(call, preconditions)
    let fields = try live.fields.members()
    let merged = changes.map { name, change in (name, change.merged(into: fields[name])) }
    return try await update(call, live, Dictionary(uniqueKeysWithValues: merged), preconditions)
  }

  func deleteRecord(_ call: ServerContext) async throws -> ServerResponse {
    let preconditions = try Preconditions(call.headers)
    let live = try await required(call, preconditions)
    let operation = SyncOperation(id: "http", kind: .delete, record: live.id, base: live.version)
    _ = try await perform(call, operation, preconditions)
    return ServerResponse(.noContent)
  }

  /// Returns the live record of a conditional change.
  private func required(_ call: ServerContext, _ preconditions: Preconditions) async throws -> ServerRecord {
    let found = try await current(call)
    guard let found, !found.isDeleted else { throw Self.absent(found) }
    guard preconditions.matches(found.version), preconditions.noneMatches(found.version) else {
      throw Self.preconditionFailed
    }
    guard preconditions.ifMatch != nil else { throw Self.preconditionRequired }
    return found
  }

  private func create(
    _ call: ServerContext, _ input: RecordInput, _ preconditions: Preconditions
  ) async throws -> ServerResponse {
    let operation = SyncOperation(
      id: "http", kind: .insert, record: call.recordID, container: input.container, fields: input.fields)
    let (version, modified, stored) = try await perform(call, operation, preconditions)
    let record =
      stored
      ?? ServerRecord(
        id: call.recordID, container: input.container, version: version, modified: modified,
        created: modified,
        owner: call.user.name, fields: FieldsDocument(input.fields))
    var answer = Self.answer(record, status: .created)
    answer.headers[.location] = Self.location(call)
    return answer
  }

  private func update(
    _ call: ServerContext, _ live: ServerRecord, _ changes: [String: JSONValue],
    movedTo container: String? = nil,
    _ preconditions: Preconditions
  ) async throws -> ServerResponse {
    let operation = SyncOperation(
      id: "http", kind: .update, record: live.id, container: container, base: live.version, fields: changes)
    let (version, modified, stored) = try await perform(call, operation, preconditions)
    var record = live
    record.version = version
    record.modified = modified
    record.container = container ?? live.container
    record.fields = FieldsDocument(try live.fields.members().merging(changes) { $1 })
    return Self.answer(stored ?? record)
  }

  func perform(
    _ call: ServerContext, _ operation: SyncOperation, _ preconditions: Preconditions
  ) async throws -> (version: String, modified: Int64, record: ServerRecord?) {
    let verdict = try await service.perform(space: call.space, user: call.user, operation)
    metrics.operation(verdict)
    switch verdict {
    case .applied(let version, let modified, let record), .duplicate(let version, let modified, let record):
      notifications.publish(space: call.space)
      return (version, modified, record)
    case .rejected(let rejection): throw HTTPFailure(rejection)
    case .conflict, .waiting:
      guard preconditions.isEmpty || preconditions.ifMatch == .any else { throw Self.preconditionFailed }
      throw HTTPFailure(.conflict, "conflict", "Another client changed the record meanwhile.")
    }
  }

  private static let preconditionRequired = HTTPFailure(
    .preconditionRequired, "preconditionRequired",
    "The record exists. Send If-Match with its entity tag, so that no user's change is lost.")

  private static func location(_ call: ServerContext) -> String {
    let names = [call.space, "records", call.recordID.type, call.recordID.id]
    return "/v1/spaces/" + names.map { $0.percentEncodedName }.joined(separator: "/")
  }
}

/// The body of a PUT: a record's JSON, of which the container and the fields count.
///
/// Members that the server sets itself (version, times, owner, sharing) are allowed and ignored, so that an edited
/// response can be sent back.
struct RecordInput {
  var type: String?
  var id: String?
  var container: String?
  var fields: [String: JSONValue] = [:]

  init(decoding bytes: UnsafeRawBufferPointer) throws {
    var input = (type: String?.none, id: String?.none, container: String?.none)
    var fields: [String: JSONValue]?
    try JSONReader.read(bytes) { reader in
      try reader.object { name, reader in
        switch name {
        case "type": input.type = try reader.string()
        case "id": input.id = try reader.string()
        case "container": input.container = try reader.string()
        case "version", "owner": _ = try reader.string()
        case "modified", "created": _ = try reader.int()
        case "sharing": _ = try Audience(from: &reader)
        case "fields":
          var members: [String: JSONValue] = [:]
          try reader.object { members[$0] = try JSONValue(from: &$1) }
          fields = members
        default: throw JSONError(reason: "a record to put has no member '\(name)'", offset: reader.offset)
        }
      }
    }
    guard let fields else { throw JSONError(reason: "a record needs 'fields'", offset: bytes.count) }
    (type, id, container) = input
    self.fields = fields
  }

  /// Throws if the body has names and they differ from those of the address.
  func check(against record: RecordID) throws {
    guard type ?? record.type == record.type, id ?? record.id == record.id else {
      throw HTTPFailure(.unprocessableContent, "invalid", "The body names another record than the address.")
    }
  }
}

extension JSONValue {
  /// Returns `target` with this patch applied (RFC 7396).
  func merged(into target: JSONValue?) -> JSONValue {
    guard case .object(let changes) = self else { return self }
    var members = target?.objectValue ?? [:]
    for (name, change) in changes {
      if change.isNull {
        members.removeValue(forKey: name)
      } else {
        members[name] = change.merged(into: members[name])
      }
    }
    return .object(members)
  }
}

extension String {
  /// The text as one segment of a path. Everything but RFC 3986's unreserved characters is encoded.
  var percentEncodedName: String {
    addingPercentEncoding(
      withAllowedCharacters: CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")) ?? self
  }
}
