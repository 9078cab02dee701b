import BothyStore

extension Outcome {
  /// Writes `{"id","outcome","version"?,"modified"?,"record"?,"code"?,"message"?,"fields"?,"on"?}`.
  package func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("id", operation)
    writer.key("outcome")
    switch verdict {
    case .applied(let version, let modified, let record):
      writer.value("applied")
      Self.write(version, modified, record, to: &writer)
    case .duplicate(let version, let modified, let record):
      writer.value("duplicate")
      Self.write(version, modified, record, to: &writer)
    case .conflict(let current):
      writer.value("conflict")
      Self.write(current, to: &writer)
    case .rejected(let rejection):
      writer.value("rejected")
      rejection.writeMembers(to: &writer)
    case .waiting(let on):
      writer.value("waiting")
      writer.member("on", on)
    }
    writer.endObject()
  }

  private static func write(
    _ version: String, _ modified: Int64, _ record: ServerRecord?, to writer: inout JSONWriter
  ) {
    writer.member("version", version)
    writer.member("modified", modified)
    write(record, to: &writer)
  }

  private static func write(_ record: ServerRecord?, to writer: inout JSONWriter) {
    guard let record else { return }
    writer.key("record")
    record.write(to: &writer)
  }

  /// Reads the output of `write`. Throws `JSONError`.
  package init(from reader: inout JSONReader) throws {
    var id: String?
    var outcome: String?
    var version: String?
    var modified: Int64 = 0
    var record: ServerRecord?
    var rejection = Rejection(code: "rejected", message: "The server rejected the change.")
    var on: String?
    try reader.object { name, reader in
      switch name {
      case "id": id = try reader.string()
      case "outcome": outcome = try reader.string()
      case "version": version = try reader.string()
      case "modified": modified = try reader.int()
      case "record": record = try reader.nextIsNull() ? nil : ServerRecord(from: &reader)
      case "on": on = try reader.string()
      default: try rejection.read(name, &reader)
      }
    }
    guard let id, let outcome else {
      throw JSONError(reason: "an outcome needs 'id' and 'outcome'", offset: reader.offset)
    }
    switch (outcome, version) {
    case ("applied", let version?):
      self.init(operation: id, .applied(version: version, modified: modified, record: record))
    case ("duplicate", let version?):
      self.init(operation: id, .duplicate(version: version, modified: modified, record: record))
    case ("conflict", _): self.init(operation: id, .conflict(current: record))
    case ("rejected", _): self.init(operation: id, .rejected(rejection))
    case ("waiting", _): self.init(operation: id, .waiting(on: on ?? ""))
    default:
      throw JSONError(reason: "'\(outcome)' isn't an outcome, or lacks its version", offset: reader.offset)
    }
  }
}

extension Rejection {
  /// Writes the members `code`, `message` and `fields` into the open object.
  package func writeMembers(to writer: inout JSONWriter) {
    writer.member("code", code)
    writer.member("message", message)
    guard !fields.isEmpty else { return }
    writer.list("fields", fields) { writer, field in
      writer.member("field", field.field)
      writer.member("code", field.code)
      writer.member("message", field.message)
      guard let record = field.record else { return }
      writer.member("type", record.type)
      writer.member("record", record.id)
    }
  }

  /// Reads one member, and skips unknown ones.
  package mutating func read(_ name: String, _ reader: inout JSONReader) throws {
    switch name {
    case "code": code = try reader.string()
    case "message": message = try reader.string()
    case "fields":
      try reader.array { reader in
        var error = FieldError(field: "", code: "", message: "")
        var type: String?
        var record: String?
        try reader.object { name, reader in
          switch name {
          case "field": error.field = try reader.string()
          case "code": error.code = try reader.string()
          case "message": error.message = try reader.string()
          case "type": type = try reader.string()
          case "record": record = try reader.string()
          default: try reader.skip()
          }
        }
        if let type, let record { error.record = RecordID(type: type, id: record) }
        fields.append(error)
      }
    default: try reader.skip()
    }
  }

  /// The canonical JSON object.
  package var json: String {
    var writer = JSONWriter()
    writer.beginObject()
    writeMembers(to: &writer)
    writer.endObject()
    return writer.string
  }

  /// Reads the text of `json`. Throws `JSONError`.
  package init(json: String) throws {
    self.init(code: "rejected", message: "")
    var copy = self
    try JSONReader.read(json) { reader in try reader.object { try copy.read($0, &$1) } }
    self = copy
  }
}
