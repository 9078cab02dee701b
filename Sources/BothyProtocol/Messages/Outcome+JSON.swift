import BothyStore

extension Outcome {
  /// Writes `{"id","outcome","version"?,"modified"?,"record"?,"code"?,"message"?,"fields"?,"on"?}`.
  package func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("id")
    writer.value(operation)
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
      if let current {
        writer.key("record")
        current.write(to: &writer)
      }
    case .rejected(let rejection):
      writer.value("rejected")
      rejection.writeMembers(to: &writer)
    case .waiting(let on):
      writer.value("waiting")
      writer.key("on")
      writer.value(on)
    }
    writer.endObject()
  }

  private static func write(
    _ version: String, _ modified: Int64, _ record: ServerRecord?, to writer: inout JSONWriter
  ) {
    writer.key("version")
    writer.value(version)
    writer.key("modified")
    writer.value(modified)
    if let record {
      writer.key("record")
      record.write(to: &writer)
    }
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
    writer.key("code")
    writer.value(code)
    writer.key("message")
    writer.value(message)
    guard !fields.isEmpty else { return }
    writer.key("fields")
    writer.beginArray()
    for field in fields {
      writer.beginObject()
      writer.key("field")
      writer.value(field.field)
      writer.key("code")
      writer.value(field.code)
      writer.key("message")
      writer.value(field.message)
      if let record = field.record {
        writer.key("type")
        writer.value(record.type)
        writer.key("record")
        writer.value(record.id)
      }
      writer.endObject()
    }
    writer.endArray()
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
