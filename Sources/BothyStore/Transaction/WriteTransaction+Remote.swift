/// Writes from a server: whole rows, outside the rules for the app's writes.
extension WriteTransaction {
  /// Writes a row from the server, new or over an older version. Returns false and changes nothing if the local row is
  /// newer.
  ///
  /// - Parameter own: The fields that this device sent, by position, if the row does not show them yet.
  @discardableResult
  package func put(
    _ table: TypeTable, id: String, _ row: StoredRow, own: [Int: FieldValue] = [:]
  ) throws -> Bool {
    try put(table, id: id, row, over: self.row(table, id: id), own: own)
  }

  /// Replaces a row whatever its version. The version of a pending row is only the base of its change, and a server
  /// restored to an earlier state has lower versions.
  ///
  /// - Parameter own: The fields that this device sent, by position, if the row does not show them yet.
  package func replace(_ table: TypeTable, id: String, _ row: StoredRow, own: [Int: FieldValue] = [:]) throws
  {
    let before = try self.row(table, id: id)
    if before != nil { try remove(table, id: id) }
    var row = row
    row.metadata = row.metadata.filled(from: before?.metadata)
    try put(table, id: id, row, over: before, own: own)
  }

  @discardableResult
  private func put(
    _ table: TypeTable, id: String, _ row: StoredRow, over before: StoredRow?, own: [Int: FieldValue]
  ) throws -> Bool {
    let put = try statement(.put, table)
    put.bind(id, at: 1)
    var encoder = FieldEncoder(binding: put.pointer, from: 2)
    for (field, value) in zip(table.schema.fields, row.values) { encoder.encode(value, kind: field.kind) }
    let next = encoder.nextParameter
    put.bind(row.container == table.schema.name ? nil : row.container, at: next)
    put.bind(row.version, at: next + 1)
    put.bind(row.unknownFields, at: next + 2)
    if table.schema.isSynced { put.bind(row.metadata, at: next + 3) }
    try put.run()
    guard database.changedRows > 0 else { return false }
    if let before {
      try unlink(table, id: id, before.values)
      if before.values != row.values { try note(row, over: before, own: own, table, id: id) }
    }
    try link(table, id: id, row.values)
    note(before == nil ? .inserted : .updated, table, id)
    touch(table, id, FieldSet(from: before, to: row.values))
    return true
  }

  /// Notes how a row changed: what others changed in the file, and the rest in memory.
  private func note(
    _ row: StoredRow, over before: StoredRow, own: [Int: FieldValue], _ table: TypeTable, id: String
  ) throws {
    let record = RecordID(type: table.schema.name, id: id)
    let isOwn = ownChanges?.isOwn(record, from: before.version, to: row.version) ?? false
    let own = isOwn ? row.all : own
    // A change that the file doesn't note is one of this device, which came to the row or left it.
    let isNoted = try ReplacedFields.note(before, row, own: own, table, id: id, in: self)
    note(own: isNoted ? own : row.all, over: before.values, table, id: id)
  }

  /// Removes a row and ignores delete rules: `followDeletion(of:isOwn:)` carries them out if the record was deleted.
  /// Returns false if the row doesn't exist.
  ///
  /// - Parameter deletion: The version of the deletion, empty if it is unknown. Nil if the record was not deleted, and
  ///   this device only stops keeping it.
  @discardableResult
  package func evict(_ table: TypeTable, id: String, deletion: String? = nil) throws -> Bool {
    if keepsNews, let before = try row(table, id: id) {
      if let deletion {
        try ReplacedFields.note(gone: before, version: deletion, table, id: id, in: self)
      } else {
        try ReplacedFields.hide(before, table, id: id, in: self)
      }
    }
    return try remove(table, id: id)
  }

  /// Removes the row of a record that this device deleted on the server, and carries out the delete rules. Remembers
  /// nothing of it.
  package func forget(_ table: TypeTable, id: String) throws {
    guard try remove(table, id: id) else { return }
    try followDeletion(of: RecordID(type: table.schema.name, id: id), isOwn: true)
  }

  @discardableResult
  private func remove(_ table: TypeTable, id: String) throws -> Bool {
    if table.hasListReferences { try unlink(table, id: id) }
    let delete = try statement(.delete, table)
    delete.bind(id, at: 1)
    try delete.run()
    touch(table, id)
    guard database.changedRows > 0 else { return false }
    note(.removed, table, id)
    return true
  }

  /// Like `evict(_:id:deletion:)` for a deletion at `version`, but ignores a row with a newer version.
  package func evict(_ table: TypeTable, id: String, upTo version: String) throws -> Bool {
    let select = try PreparedStatement(
      """
      SELECT 1 FROM \(table.name) WHERE _id = ?1
      AND (_version IS NULL OR CAST(_version AS INTEGER) <= CAST(?2 AS INTEGER))
      """, in: database)
    select.bind(id, at: 1)
    select.bind(version, at: 2)
    let isOlder = try select.step()
    select.reset()
    return try isOlder && evict(table, id: id, deletion: version)
  }

  /// Sets the container of a row without touching its fields.
  package func setContainer(_ container: String, _ table: TypeTable, id: String) throws {
    let update = try PreparedStatement(
      "UPDATE \(table.name) SET _container = ? WHERE _id = ?", in: database)
    update.bind(container == table.schema.name ? nil : container, at: 1)
    update.bind(id, at: 2)
    try update.run()
    touch(table, id)
  }

  /// Sets the known metadata of a row. Notifies observers if that changes anything.
  package func setMetadata(_ metadata: RecordMetadata, _ table: TypeTable, id: String) throws {
    let update = try statement(.setMetadata, table)
    update.bind(metadata, at: 1)
    update.bind(id, at: 4)
    try update.run()
    if database.changedRows > 0 { touch(table, id) }
  }

  /// Sets the version of a row without touching its fields.
  package func setVersion(_ version: String, _ table: TypeTable, id: String) throws {
    let update = try statement(.setVersion, table)
    update.bind(version, at: 1)
    update.bind(id, at: 2)
    try update.run()
    touch(table, id)
  }
}
