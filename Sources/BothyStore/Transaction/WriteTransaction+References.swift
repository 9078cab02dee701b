import GRDB

/// The work of a write beyond its own columns: unique fields of synced types, the index of list references, and members
/// outside columns.
extension WriteTransaction {
  func clearReference(_ clearing: DeletionPlan.Clearing) throws {
    var value = FieldValue.null
    if clearing.isList, case .list(let ids)? = try record(clearing.owner)?[clearing.field] {
      value = .list(ids.filter { !$0.utf8.elementsEqual(clearing.target.utf8) })
    }
    try update(clearing.owner, fields: [clearing.field: value])
  }

  /// Carries out the rules of the fields that refer to a record which the server has deleted. Their changes are ones of
  /// this device. Nothing can forbid the deletion, so a reference with the rule `.deny` stays. So does a record that is to
  /// be deleted too, if the rule of another one forbids that.
  ///
  /// - Parameter isOwn: true if this device had the record deleted. Otherwise the device that did carries out the rules of
  ///   synced types, and only those of types that stay on this device are left.
  package func followDeletion(of id: RecordID, isOwn: Bool) throws {
    let incoming = try catalog.incoming[catalog.table(id.type).index]
      .filter { isOwn || !catalog.tables[$0.table].schema.isSynced }
    if incoming.isEmpty { return }
    try recording {
      for reference in incoming where reference.rule != .deny {
        let owner = catalog.tables[reference.table]
        let field = owner.schema.fields[reference.field]
        for ownerID in try referrers(of: id, from: owner, field, isList: reference.isList) {
          let referrer = RecordID(type: owner.schema.name, id: ownerID)
          if reference.rule == .nullify {
            try clearReference(
              DeletionPlan.Clearing(
                owner: referrer, field: field.name, target: id.id, isList: reference.isList))
          } else {
            do { try delete(referrer) } catch let error as BothyError where error.code == .denied { continue }
          }
        }
      }
    }
  }

  /// Runs `body`, whose changes are ones of this device in a transaction of the server's too.
  package func recording(_ body: () throws -> Void) throws {
    let former = recorder
    recorder = clock
    defer { recorder = former }
    try body()
    try flush()
  }

  /// Checks what is unique in synced types, which have no unique index, when the app writes. A pull may bring two
  /// records with one value. A value that the record had before is therefore accepted, so that its other fields can be
  /// edited.
  func checkUnique(_ table: TypeTable, id: String, _ values: [FieldValue], before: [FieldValue]? = nil) throws
  {
    guard table.schema.isSynced else { return }
    for key in table.uniqueKeys {
      let wanted = key.map { values[$0] }
      if wanted.contains(where: \.isNull) || wanted == before.map({ old in key.map { old[$0] } }) { continue }
      let fields = key.map { table.schema.fields[$0].name }
      let condition = fields.map { "\($0.quotedIdentifier) = ?" }.joined(separator: " AND ")
      let select = try PreparedStatement(
        "SELECT _id FROM \(table.name) WHERE \(condition) AND _id <> ? LIMIT 1", in: database)
      select.bind(wanted)
      select.bind(id, at: Int32(wanted.count + 1))
      defer { select.reset() }
      if try select.step() {
        let names = fields.map { "'\($0)'" }.joined(separator: " and ")
        throw BothyError(
          .uniqueViolation,
          "Another \(table.schema.name) ('\(select.text(at: 0) ?? "")') has the same \(names), "
            + "which \(fields.count == 1 ? "is unique" : "are unique together"). Change that one first, or choose "
            + "another value.")
      }
    }
  }

  /// Runs the statement that writes a row. The app may catch a taken id or value inside its closure, so SQLite's error
  /// becomes the store's here.
  func run(_ statement: PreparedStatement, _ table: TypeTable, id: String) throws {
    do { try statement.run() } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
      if error.extendedResultCode == .SQLITE_CONSTRAINT_PRIMARYKEY {
        throw Self.alreadyExists(RecordID(type: table.schema.name, id: id), error)
      }
      throw BothyError(error, path: table.schema.name)
    }
  }

  /// Adds the references in `values`, the new values of the record.
  func link(_ table: TypeTable, id: String, _ values: [FieldValue]) throws {
    try writeLinks("INSERT OR IGNORE INTO bothy_link VALUES (?, ?, ?, ?, ?)", table, id: id, values)
  }

  func unlink(_ table: TypeTable, id: String) throws {
    guard table.hasListReferences, let row = try row(table, id: id) else { return }
    try unlink(table, id: id, row.values)
  }

  /// Removes the references in `values`, the old values of the record.
  func unlink(_ table: TypeTable, id: String, _ values: [FieldValue]) throws {
    try writeLinks(
      """
      DELETE FROM bothy_link WHERE target_type = ? AND target = ? AND owner_type = ? AND field = ? AND owner = ?
      """, table, id: id, values)
  }

  /// Runs a statement for each reference in the lists of `values`.
  private func writeLinks(_ sql: String, _ table: TypeTable, id: String, _ values: [FieldValue]) throws {
    guard table.hasListReferences else { return }
    for (field, value) in zip(table.schema.fields, values) {
      guard case .references(let target, _) = field.kind, case .list(let ids) = value else { continue }
      let statement = try PreparedStatement(sql, in: database)
      for targetID in ids {
        statement.bind(target, at: 1)
        statement.bind(targetID, at: 2)
        statement.bind(table.schema.name, at: 3)
        statement.bind(field.name, at: 4)
        statement.bind(id, at: 5)
        try statement.run()
      }
    }
  }

  /// Removes the members outside columns of the fields that change. The written value replaces the unread one.
  func forget(
    _ aside: String, of before: [FieldValue], now values: [FieldValue], _ table: TypeTable, _ id: String
  ) throws {
    guard var members = try JSONValue(parsing: aside).objectValue else { return }
    let count = members.count
    for position in values.indices where before[position] != values[position] {
      for name in table.asideNames[position] { members[name] = nil }
    }
    guard members.count < count else { return }
    let set = try statement(.setAside, table)
    set.bind(members.isEmpty ? nil : JSONValue.object(members).canonicalText, at: 1)
    set.bind(id, at: 2)
    try set.run()
  }
}

extension WriteTransaction {
  package static func notFound(_ id: RecordID) -> BothyError {
    BothyError(.notFound, "The record \(id) doesn't exist. Use `insert` or `save` to create it.")
  }

  package static func alreadyExists(_ id: RecordID, _ cause: (any Error)? = nil) -> BothyError {
    BothyError(
      .alreadyExists, "\(id.type) already has a record '\(id.id)'. Use `save` or `update` to change it.",
      underlying: cause)
  }
}
