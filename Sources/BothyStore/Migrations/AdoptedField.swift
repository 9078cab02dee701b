import GRDB

/// Moves a field that was unknown until now from what is kept aside of each record to its own column: what other
/// devices gave the field while this app was old is there as soon as it knows the field, with no request.
struct AdoptedField {
  let database: Database

  /// Costs one scan of the type; a value that is not of the field's kind is left out, as one from the server would be.
  func run(_ field: FieldSchema, of type: TypeSchema) throws {
    guard type.isSynced else { return }
    let table = type.name.quotedIdentifier
    let select = try PreparedStatement(
      "SELECT rowid, _extra FROM \(table) WHERE json_type(_extra, '$.' || ?) IS NOT NULL", in: database)
    select.bind(field.name, at: 1)
    var found: [(row: Int64, members: [String: JSONValue])] = []
    while try select.step() {
      guard let members = try JSONValue(parsing: select.text(at: 1) ?? "{}").objectValue else { continue }
      found.append((select.int(at: 0), members))
    }
    select.reset()
    let assignments = field.columns.map { "\($0.quotedIdentifier) = ?" }.joined(separator: ", ")
    let keep = try PreparedStatement("UPDATE \(table) SET _extra = ? WHERE rowid = ?", in: database)
    let set = try PreparedStatement("UPDATE \(table) SET \(assignments) WHERE rowid = ?", in: database)
    for (row, before) in found {
      var members = before
      let json = members.removeValue(forKey: field.name) ?? .null
      keep.bind(members.isEmpty ? nil : JSONValue.object(members).canonicalText, at: 1)
      keep.bind(row, at: 2)
      try keep.run()
      guard let value = try? FieldValue(json: json, kind: field.kind), value.fits(field) else { continue }
      var encoder = FieldEncoder(binding: set.pointer, from: 1)
      encoder.encode(value, kind: field.kind)
      set.bind(row, at: encoder.nextParameter)
      try set.run()
    }
  }
}
