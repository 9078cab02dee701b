package import BothyStore

/// The groups of any program, read and set by name, for tools. Runs no hook of the program.
package struct StoredSettings {
  private let store: LocalStore

  package init(in store: LocalStore) { self.store = store }

  /// Returns the stored groups by name. A group that is stored as a record has the record's values.
  package func groups() throws -> [SettingsRow] {
    try store.read { transaction in
      try SettingsTable.names(in: transaction).compactMap { try Self.group($0, transaction) }
    }
  }

  /// Returns a group. Throws `BothyError` `unknownGroup`, whose message names the groups that exist.
  package func group(_ name: String) throws -> SettingsRow {
    try store.read { try Self.known(name, $0) }
  }

  /// Sets one value, or its default if the new value is nil. Returns the group before and after the change.
  ///
  /// Writes nothing if the group doesn't change. Throws `unknownGroup`, `unknownKey` or `.invalidValue`.
  package func set(
    _ name: String, _ key: String, to make: (FieldSchema) throws -> FieldValue?
  ) throws -> (old: SettingsRow, new: SettingsRow) {
    try store.write { transaction in
      let row = try Self.known(name, transaction)
      let field = try row.field(key)
      let value = try make(field) ?? field.initialValue
      guard value.fits(field) else {
        throw BothyError(.invalidValue, "\(name).\(key) must be \(field.kind.phrase).")
      }
      let shape = GroupLayout(name: name, version: row.version, fields: row.fields)
      let keeper = try SettingsStorage(shape, in: store.schema)
      guard row.values[key] != value, let state = try keeper.read(transaction) else { return (row, row) }
      var values = state.values
      for (index, field) in shape.fields.enumerated() where field.name == key { values[index] = value }
      try shape.check(values)
      _ = try keeper.write(values, over: state, in: transaction)
      return (row, try Self.known(name, transaction))
    }
  }

  /// The group now and after each change, by any process.
  package func values(of name: String) throws -> LiveValues<SettingsRow?> {
    let record = store.schema[name].map { _ in RecordID(type: name, id: SettingsStorage.recordID) }
    return store.observe(.settings(and: record)) { try Self.group(name, $0) }
  }

  private static func known(_ name: String, _ transaction: ReadTransaction) throws -> SettingsRow {
    if let row = try group(name, transaction) { return row }
    let names = try SettingsTable.names(in: transaction)
    let known =
      names.isEmpty ? "It holds none; an app makes them." : "Known: \(names.joined(separator: ", "))."
    throw BothyError(.unknownGroup, "This file has no settings '\(name)'. \(known)")
  }

  private static func group(_ name: String, _ transaction: ReadTransaction) throws -> SettingsRow? {
    guard var row = try SettingsTable.row(name, in: transaction) else { return nil }
    guard let type = transaction.catalog.schema[name] else { return row }
    // A migration of the store may have changed the fields since the app wrote the row, which has their defaults.
    let known = row.fields
    row.fields = type.fields.map { field in
      known.first { $0.name == field.name && $0.kind == field.kind } ?? field
    }
    row.values = [:]
    let record = try transaction.record(RecordID(type: name, id: SettingsStorage.recordID))
    for field in row.fields {
      let stored = record?[field.name] ?? .null
      row.values[field.name] = stored.isNull ? field.initialValue : stored
    }
    return row
  }
}

extension SettingsRow {
  /// Returns a field. Throws `BothyError` `unknownKey`, whose message names the fields that exist.
  package func field(_ key: String) throws(BothyError) -> FieldSchema {
    if let field = fields.first(where: { $0.name == key }) { return field }
    let known = fields.map(\.name).joined(separator: ", ")
    throw BothyError(.unknownKey, "\(name) has no setting '\(key)'. Known: \(known).")
  }

  /// The names of the fields whose values differ.
  package func changedKeys(since old: SettingsRow) -> [String] {
    fields.map(\.name).filter { values[$0] != old.values[$0] }
  }
}
