import BothyStore

import struct Foundation.Data

/// Between a stored row and the document that the server keeps of it.
extension TypeTable {
  /// The row's canonical document, fields unknown to this schema included.
  func document(_ row: StoredRow) -> FieldsDocument {
    if let unknown = row.unknownFields, var members = try? JSONValue(parsing: unknown).objectValue {
      // Stored by this module, so it parses; were it damaged, the known fields alone would be sent.
      for (name, value) in self.members(row.values) { members[name] = value }
      return FieldsDocument(members)
    }
    var writer = JSONWriter(reserving: 32 * schema.fields.count)
    writer.beginObject()
    for position in canonicalOrder where !row.values[position].isNull {
      writer.key(schema.fields[position].name)
      row.values[position].write(to: &writer)
    }
    writer.endObject()
    return FieldsDocument(canonical: writer.bytes)
  }

  /// The members of the row's document, made without writing and reading it.
  func members(_ row: StoredRow) throws -> [String: JSONValue] {
    row.unknownFields == nil ? members(row.values) : try document(row).members()
  }

  private func members(_ values: [FieldValue]) -> [String: JSONValue] {
    var members: [String: JSONValue] = [:]
    members.reserveCapacity(values.count)
    for (field, value) in zip(schema.fields, values) where !value.isNull { members[field.name] = value.json }
    return members
  }

  /// The row that a server's document becomes here: known fields in their columns, others kept aside. A required
  /// field that is missing or of another type gets its default, or its kind's zero.
  ///
  /// `repaired` is set when something had to be filled in. Throws `JSONError` for malformed JSON, and for fields that are
  /// nested deeper than `limit`.
  func row(
    _ document: FieldsDocument, container: String, version: String?,
    upTo limit: Int = JSONReader.maximumDepth, repaired: inout Bool
  ) throws -> StoredRow {
    var values = Array(repeating: FieldValue.null, count: schema.fields.count)
    var unknown: [String: JSONValue] = [:]
    try JSONReader.read(document.bytes, upTo: limit) { reader in
      try reader.object { name, reader in
        guard let position = positions[name] else {
          unknown[name] = try JSONValue(from: &reader)
          return
        }
        // A server that tells a secret tells it to nobody here.
        if schema.fields[position].isSensitive { return try reader.skip() }
        let start = reader
        do {
          values[position] = try FieldValue(from: &reader, kind: schema.fields[position].kind)
        } catch is FieldValueError {
          repaired = true
          reader = start
          try reader.skip()
        }
      }
    }
    for (position, field) in schema.fields.enumerated() where values[position].isNull && !field.isOptional {
      values[position] = field.defaultValue ?? field.kind.zero
      repaired = true
    }
    return StoredRow(
      values: values, container: container == schema.name ? nil : container, version: version,
      unknownFields: unknown.isEmpty ? nil : JSONValue.object(unknown).canonicalText)
  }
}

extension FieldValue {
  /// What the value's JSON text is read as.
  fileprivate var json: JSONValue? {
    switch self {
    case .bool(let flag): return .bool(flag)
    case .int(let number), .date(let number): return .int(number)
    case .text(let text): return .string(text)
    case .list(let ids): return .array(ids.map { .string($0) })
    case .null: return .null
    case .double, .data, .coordinate, .json:
      var writer = JSONWriter()
      write(to: &writer)
      return try? JSONValue(parsing: writer.bytes)  // a value's own JSON always parses
    }
  }
}

extension FieldKind {
  /// What stands in a required field that the server has no usable value for.
  fileprivate var zero: FieldValue {
    switch self {
    case .bool: .bool(false)
    case .int: .int(0)
    case .double: .double(0)
    case .text, .reference: .text("")
    case .uuid: .text("00000000-0000-0000-0000-000000000000")
    case .date: .date(0)
    case .data: .data(Data())
    case .coordinate: .coordinate(Coordinate(latitude: 0, longitude: 0))
    case .json, .blob: .json("null")
    case .references: .list([])
    }
  }
}
