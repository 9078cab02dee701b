import GRDB

/// The members of synced records that no column holds (`_extra`). They belong to fields that the schema lacks or that
/// could not be read. A change of the schema renames them or moves them to columns.
struct KeptAside {
  let database: Database

  /// Gives the members their new names. Costs one scan of the type.
  func rename(_ type: String, from old: NameMap, to new: NameMap) throws {
    try change(type) { new.local($0, of: old) }
  }

  /// Moves the members that now have a field to its column. Values that other devices gave the field before this app
  /// had it are thus present at once, without a request. Those of a sensitive field are removed. Costs one scan of the
  /// type.
  func adopt(_ type: TypeSchema) throws {
    let names = NameMap(type)
    let fields = Dictionary(
      type.fields.filter { !$0.isSensitive }.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    // A value of a sensitive field came with a former field of its name, or couldn't be read as one.
    let concealed = type.fields.filter(\.isSensitive).flatMap { [$0.name] + $0.aliases.map(names.local) }
    let present = try fields.filter { !$0.value.aliases.isEmpty }.mapValues { try presence(of: $0, in: type) }
    var found: [String: [(row: Int64, value: FieldValue)]] = [:]
    try change(type.name) { members, row in
      for name in concealed { members[name] = nil }
      for field in fields.values {
        let sources = [field.name] + field.aliases.map(names.local)
        guard let source = sources.first(where: { !(members[$0] ?? .null).isNull }),
          let json = members[source], let (value, isConverted) = Self.value(json, of: field),
          // An alias is read where the field has no value.
          try source == field.name || members[field.name] != nil
            || !Self.hasValue(row, by: present[field.name])
        else {
          if field.isOptional && members[field.name] == .null { members[field.name] = nil }
          continue
        }
        found[field.name, default: []].append((row, value))
        if source != field.name {
          members[field.name] = .null
        } else if !isConverted {
          // One of an earlier kind stays, so that the row still has what the server reported.
          members[field.name] = nil
        }
      }
    }
    for field in type.fields {
      guard let values = found[field.name] else { continue }
      try set(values, field, of: type)
      try LinkIndex(database: database).rebuild(type: type.name, field: field)
    }
  }

  /// Saves the values of a field that the schema is about to lose as members, because other devices still have it.
  /// Costs one scan of the type.
  func keep(_ field: FieldSchema, of type: TypeSchema) throws {
    guard type.isSynced, !field.isSensitive else { return }
    let columns = field.columns.map(\.quotedIdentifier).joined(separator: ", ")
    let select = try PreparedStatement(
      "SELECT rowid, \(columns) FROM \(type.name.quotedIdentifier)", in: database)
    var values: [Int64: JSONValue] = [:]
    while try select.step() {
      var decoder = FieldDecoder(row: select.pointer, from: 1, type: type.name)
      let value = try decoder.value(field.kind)
      if value.isNull { continue }
      var writer = JSONWriter()
      value.write(to: &writer)
      values[select.int(at: 0)] = try JSONValue(parsing: writer.bytes)
    }
    select.reset()
    try change(type.name, all: true) { members, row in
      if members[field.name] == nil { members[field.name] = values[row] }
      if members[field.name] == .null { members[field.name] = nil }
    }
  }

  /// Saves the values by row that a field had before its kind changed, unless a row has its content aside already.
  /// Costs one scan of the type.
  func keep(_ originals: [Int64: JSONValue], _ field: String, of type: TypeSchema) throws {
    guard !originals.isEmpty else { return }
    try change(type.name, all: true) { members, row in
      if members[field] == nil { members[field] = originals[row] }
    }
  }

  /// Reads a member, or converts one of an earlier kind by the declared steps. Nil if the field can't have it.
  private static func value(_ json: JSONValue, of field: FieldSchema) -> (FieldValue, isConverted: Bool)? {
    // A value of another kind than the field's may be of an earlier one.
    if let value = try? FieldValue(json: json, kind: field.kind), value.fits(field) { return (value, false) }
    guard let value = field.converted(json) else { return nil }
    return (value, true)
  }

  /// Prepares the question if a field has a value in a row.
  private func presence(of field: FieldSchema, in type: TypeSchema) throws -> PreparedStatement {
    try PreparedStatement(
      "SELECT \(field.columns[0].quotedIdentifier) IS NOT NULL FROM \(type.name.quotedIdentifier) WHERE rowid = ?",
      in: database)
  }

  private static func hasValue(_ row: Int64, by select: PreparedStatement?) throws -> Bool {
    guard let select else { return false }
    defer { select.reset() }
    select.bind(row, at: 1)
    return try select.step() && select.int(at: 0) != 0
  }

  private func set(
    _ values: [(row: Int64, value: FieldValue)], _ field: FieldSchema, of type: TypeSchema
  ) throws {
    let assignments = field.columns.map { "\($0.quotedIdentifier) = ?" }.joined(separator: ", ")
    let set = try PreparedStatement(
      "UPDATE \(type.name.quotedIdentifier) SET \(assignments) WHERE rowid = ?", in: database)
    for (row, value) in values {
      var encoder = FieldEncoder(binding: set.pointer, from: 1)
      encoder.encode(value, kind: field.kind)
      set.bind(row, at: encoder.nextParameter)
      try set.run()
    }
  }

  private func change(_ type: String, _ body: ([String: JSONValue]) -> [String: JSONValue]) throws {
    try change(type) { members, _ in members = body(members) }
  }

  /// - Parameter all: True to include rows without such members.
  private func change(
    _ type: String, all: Bool = false, _ body: (inout [String: JSONValue], Int64) throws -> Void
  ) throws {
    let table = type.quotedIdentifier
    let select = try PreparedStatement(
      "SELECT rowid, _extra FROM \(table)" + (all ? "" : " WHERE _extra IS NOT NULL"), in: database)
    var changed: [(row: Int64, members: [String: JSONValue])] = []
    while try select.step() {
      // This library wrote the text, so it parses. Damaged text is left unchanged.
      guard let before = try? JSONValue(parsing: select.text(at: 1) ?? "{}").objectValue else { continue }
      var members = before
      try body(&members, select.int(at: 0))
      if members != before { changed.append((select.int(at: 0), members)) }
    }
    select.reset()
    let update = try PreparedStatement("UPDATE \(table) SET _extra = ? WHERE rowid = ?", in: database)
    for (row, members) in changed {
      update.bind(members.isEmpty ? nil : JSONValue.object(members).canonicalText, at: 1)
      update.bind(row, at: 2)
      try update.run()
    }
  }
}
