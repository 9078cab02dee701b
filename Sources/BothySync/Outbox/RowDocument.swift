import BothyStore

/// Converts between a stored row and the server's document of it.
extension TypeTable {
  /// Returns the row's canonical document, with the members that are kept aside. These are members without a field in
  /// this schema, and contents of fields that couldn't be read here, until the field is written.
  func document(_ row: StoredRow) -> FieldsDocument {
    if let unknown = row.unknownFields, var members = try? JSONValue(parsing: unknown).objectValue {
      // Stored by this module, so it parses. If it is damaged, only the known fields are sent.
      members.merge(self.members(row.values)) { aside, _ in aside }
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

  /// Returns the members of the row's document, without writing and reading it.
  func members(_ row: StoredRow) throws -> [String: JSONValue] {
    row.unknownFields == nil ? members(row.values) : try document(row).members()
  }

  private func members(_ values: [FieldValue]) -> [String: JSONValue] {
    var members: [String: JSONValue] = [:]
    members.reserveCapacity(values.count)
    for (field, value) in zip(schema.fields, values) where !value.isNull { members[field.name] = value.json }
    return members
  }

  /// Returns the row for a server's document: known fields in their columns, others kept aside. A field without a value
  /// under its name is read from its aliases. A required field that is missing or of another type gets its default, or
  /// its kind's zero. A value of an earlier kind is converted by the declared steps. The original content, null if it was
  /// missing, is kept aside, so that `document` returns what the server has.
  ///
  /// Sets `repaired` if something had to be filled in. Throws `JSONError` for malformed JSON, and for fields that are
  /// nested deeper than `limit`.
  func row(
    _ document: FieldsDocument, container: String, version: String?,
    upTo limit: Int = JSONReader.maximumDepth, repaired: inout Bool
  ) throws -> StoredRow {
    var values = Array(repeating: FieldValue.null, count: schema.fields.count)
    var aside: [String: JSONValue] = [:]
    try JSONReader.read(document.bytes, upTo: limit) { reader in
      try reader.object { name, reader in
        guard let position = positions[name] else {
          aside[name] = try JSONValue(from: &reader)
          return
        }
        // Secrets that a server sends aren't kept.
        if schema.fields[position].isSensitive { return try reader.skip() }
        let start = reader
        do {
          values[position] = try FieldValue(from: &reader, kind: schema.fields[position].kind)
        } catch is FieldValueError {
          reader = start
          let json = try JSONValue(from: &reader)
          aside[name] = json
          if let converted = schema.fields[position].converted(json) {
            values[position] = converted
          } else {
            repaired = true
          }
        }
      }
    }
    if hasAliases { readAliases(&values, &aside) }
    for (position, field) in schema.fields.enumerated() where values[position].isNull && !field.isOptional {
      values[position] = field.converted(.null) ?? field.standIn
      if aside[field.name] == nil { aside[field.name] = .null }
      repaired = true
    }
    return StoredRow(
      values: values, container: container == schema.name ? nil : container, version: version,
      unknownFields: aside.isEmpty ? nil : JSONValue.object(aside).canonicalText)
  }

  /// Like `row(_:container:version:upTo:repaired:)`, but for documents of which it doesn't matter if something had to be
  /// filled in.
  ///
  /// - Parameter container: the record's container, or `nil` for the type's own.
  func row(
    _ document: FieldsDocument, in container: String? = nil, version: String? = nil
  ) throws -> StoredRow {
    var repaired = false
    return try row(
      document, container: container ?? schema.name, version: version, repaired: &repaired)
  }

  /// Like `row(_:in:version:)`, but for a server's record, with its metadata.
  func row(_ record: ServerRecord) throws -> StoredRow {
    var repaired = false
    return try row(record, repaired: &repaired)
  }

  /// Like `row(_:container:version:upTo:repaired:)`, but for a server's record, with its metadata.
  func row(
    _ record: ServerRecord, upTo limit: Int = JSONReader.maximumDepth, repaired: inout Bool
  ) throws -> StoredRow {
    var row = try row(
      record.fields, container: record.container, version: record.version, upTo: limit, repaired: &repaired)
    row.metadata = record.metadata
    return row
  }

  /// Returns the row with the server's version of what this schema can't read, or `nil` if that changes nothing.
  ///
  /// Fields without a readable value on the server, and members without a declared field, keep the server's content.
  /// They don't if the row has another value than `base`. So no rewrite here, by whatever policy, undoes changes of
  /// newer apps.
  func carrying(_ server: FieldsDocument, in row: StoredRow, since base: FieldsDocument?) throws -> StoredRow?
  {
    let theirs = try self.row(server)
    guard row.unknownFields != nil || theirs.unknownFields != nil else { return nil }
    let before = try base.map { try self.row($0) }
    let mine = Self.aside(row)
    var aside = Self.aside(theirs)
    var carried = row
    for (position, names) in asideNames.enumerated() {
      let isUnreadHere = mine[names[0]] != nil
      let isUnreadThere = names.contains { aside[$0] != nil }
      guard isUnreadHere || isUnreadThere else { continue }
      if !isUnreadHere && row.values[position] != before?.values[position] {
        for name in names { aside[name] = nil }
      } else {
        carried.values[position] = theirs.values[position]
      }
    }
    carried.unknownFields = aside.isEmpty ? nil : JSONValue.object(aside).canonicalText
    return carried == row ? nil : carried
  }

  private static func aside(_ row: StoredRow) -> [String: JSONValue] {
    // Written by this module, so it parses.
    row.unknownFields.flatMap { try? JSONValue(parsing: $0).objectValue } ?? [:]
  }

  private func readAliases(_ values: inout [FieldValue], _ aside: inout [String: JSONValue]) {
    for (position, names) in asideNames.enumerated() where names.count > 1 && values[position].isNull {
      guard aside[names[0]] == nil else { continue }
      for alias in names.dropFirst() {
        guard let json = aside[alias], !json.isNull,
          let value = try? schema.fields[position].value(from: json)
        else { continue }
        values[position] = value
        aside[names[0]] = .null
        break
      }
    }
  }
}

extension OutboxQueue {
  /// Returns the record as the entry has it here, hidden or not, or `nil` for a deletion.
  static func local(
    _ entry: Outbox.Entry, _ table: TypeTable, in transaction: ReadTransaction
  ) throws -> StoredRow? {
    guard let awaited = entry.awaited else { return try transaction.row(table, id: entry.id.id) }
    if entry.change == .delete { return nil }
    return try table.row(awaited.fields, in: awaited.container, version: entry.base?.version)
  }

  /// Replaces the record that `local(_:_:in:)` returns.
  static func setLocal(
    _ entry: Outbox.Entry, _ table: TypeTable, _ row: StoredRow, in transaction: WriteTransaction
  ) throws {
    guard entry.awaited != nil else { return try transaction.replace(table, id: entry.id.id, row) }
    try update(
      entry, "SET awaited = ?4, awaited_in = ?5", table.document(row), row.container, in: transaction)
  }
}

extension StoredRow {
  /// The row as the base of a change, or `nil` for a row that no server has.
  func base(_ table: TypeTable) -> Outbox.Entry.Base? {
    version.map {
      Outbox.Entry.Base(
        version: $0, fields: table.document(self), container: container, metadata: metadata)
    }
  }
}

extension TypeTable {
  /// Returns the records that fields refer to, in the order of the type's fields.
  func targets(of fields: [String: JSONValue]) -> [RecordID] {
    schema.fields.flatMap { $0.targets(of: fields[$0.name]) }
  }
}

extension FieldSchema {
  /// Returns the records that a value of the field refers to, in its order.
  func targets(of value: JSONValue?) -> [RecordID] {
    targets(value?.stringValue.map { [$0] } ?? value?.arrayValue?.compactMap(\.stringValue) ?? [])
  }

  /// Like `targets(of:)`, but for a value of a local record.
  package func targets(of value: FieldValue) -> [RecordID] {
    switch value {
    case .text(let id): targets([id])
    case .list(let ids): targets(ids)
    default: []
    }
  }

  private func targets(_ ids: [String]) -> [RecordID] {
    guard let type = kind.target?.type else { return [] }
    return ids.map { RecordID(type: type, id: $0) }
  }
}

extension FieldValue {
  /// The JSON value that the value's JSON text parses to.
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
