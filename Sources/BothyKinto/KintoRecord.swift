import BothyHTTP
import BothyStore
import BothySync

/// A record in Kinto's form. Fields are members with their own names, so that other clients can read and write them.
///
/// Additional members contain the parts that Kinto does not have.
///
/// | member            | is                                                                      |
/// |-------------------|-------------------------------------------------------------------------|
/// | `_container`      | the container, where it is not the type's own                            |
/// | `_moved`          | true once the record was moved between containers                        |
/// | `_modified`       | when the user made the last change, in milliseconds                      |
/// | `_created`        | when the record was made, in milliseconds                                |
/// | `_by_<device>`    | the last operation of that device, which identifies a repetition         |
/// | `_f_<name>`       | a field whose name Kinto or this table uses                              |
struct KintoRecord {
  let type: String
  private let members: [String: JSONValue]
  let version: Int64

  /// Returns `nil` for an object without id or timestamp, which isn't a record.
  init?(_ json: JSONValue?, type: String) {
    guard let members = json?.objectValue, let version = members["last_modified"]?.intValue,
      members["id"]?.stringValue != nil
    else { return nil }
    self.type = type
    self.members = members
    self.version = version
  }

  var id: RecordID { RecordID(type: type, id: KintoName.decode(members["id"]?.stringValue ?? "")) }

  var isDeleted: Bool { members["deleted"]?.boolValue ?? false }

  /// True if the record may have been in another container before.
  var hasMoved: Bool { members["_moved"]?.boolValue ?? false }

  /// Returns the last operation of the device that changed the record.
  func operation(of device: String) -> String? { members[Self.mark(device)]?.stringValue }

  /// The record in Bothy's form. The edit time is never later than the server's own.
  var serverRecord: ServerRecord {
    if isDeleted {
      return ServerRecord(id: id, version: String(version), modified: version, isDeleted: true)
    }
    var fields: [String: JSONValue] = [:]
    for (name, value) in members where !value.isNull {
      if let field = Self.field(of: name) { fields[field] = value }
    }
    return ServerRecord(
      id: id, container: members["_container"]?.stringValue, version: String(version),
      modified: min(members["_modified"]?.intValue ?? version, version),
      created: members["_created"]?.intValue.map { min($0, version) }, fields: FieldsDocument(fields))
  }

  // MARK: writing

  /// Returns the members that an operation sets. Cleared fields are null, which reads as missing.
  static func members(of operation: SyncOperation, device: String, modified: Int64) -> JSONValue {
    var members: [String: JSONValue] = [:]
    for (field, value) in operation.fields where operation.kind == .update || !value.isNull {
      members[member(of: field)] = value
    }
    if let container = operation.container, operation.kind == .update || container != operation.record.type {
      members["_container"] = .string(container)
      if operation.kind == .update { members["_moved"] = true }
    }
    members["_modified"] = .int(modified)
    if operation.kind == .insert { members["_created"] = .int(modified) }
    members[mark(device)] = .string(operation.id)
    return .object(members)
  }

  private static let reserved: Set<String> = ["id", "last_modified", "deleted", "schema", "permissions"]

  static func member(of field: String) -> String {
    reserved.contains(field) || field.hasPrefix("_") ? "_f_" + field : field
  }

  private static func field(of member: String) -> String? {
    if member.hasPrefix("_f_") { return String(member.dropFirst(3)) }
    return member.hasPrefix("_") || reserved.contains(member) ? nil : member
  }

  private static func mark(_ device: String) -> String { "_by_" + device }
}
