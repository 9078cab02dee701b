import BothyStore

/// Creates records of a type from JSON objects: either the fields alone, or the format that `db get` prints.
struct RecordReader {
  let type: TypeSchema
  var container: String?

  /// Reads one object: `{"id"?, field: value, …}`, or `{"id"?, "container"?, "fields": {…}}`.
  func record(_ json: JSONValue) throws -> (record: AnyRecord, hasID: Bool) {
    guard var members = json.objectValue else {
      throw ToolError("A record is a JSON object, such as {\"\(type.fields.first?.name ?? "title")\": …}.")
    }
    let id = try members.removeValue(forKey: "id").map(Self.id)
    var container = container
    // A type may have a field called `fields` too. Then another member of the format distinguishes the two.
    let isWhole =
      type["fields"] == nil || ["type", "state"].contains { members[$0] != nil && type[$0] == nil }
    if isWhole, let fields = members["fields"]?.objectValue {
      if container == nil { container = members["container"]?.stringValue }
      members = fields
    }
    var values: [String: FieldValue] = [:]
    for (name, value) in members { values[name] = try self.value(value, of: name) }
    let record = AnyRecord(type.name, id: id ?? UUIDv7.make(), values, container: container)
    return (record, id != nil)
  }

  /// Reads a text of one object.
  func record(parsing bytes: [UInt8]) throws -> (record: AnyRecord, hasID: Bool) {
    let json: JSONValue
    do { json = try JSONValue(parsing: bytes) } catch {
      throw ToolError(
        "The record is not JSON. \(error) Write it like '{\"\(type.fields.first?.name ?? "title")\": …}'.")
    }
    return try record(json)
  }

  /// Returns the value of one field. Throws `BothyError` `.unknownField` or `.invalidValue`, which names the field.
  func value(_ json: JSONValue, of name: String) throws -> FieldValue {
    guard let field = type[name] else {
      let known = type.fields.map(\.name).joined(separator: ", ")
      throw BothyError(.unknownField, "\(type.name) has no field '\(name)'. Known: \(known).")
    }
    do { return try field.value(written: json) } catch {
      throw BothyError(.invalidValue, "\(type.name).\(name) does not fit. \(error)")
    }
  }

  private static func id(_ json: JSONValue) throws -> String {
    switch json {
    case .string(let text) where !text.isEmpty: return text
    case .int(let number): return String(number)
    default:
      throw ToolError("The record's 'id' must be a string that is not empty. Leave it out to get a new one.")
    }
  }
}
