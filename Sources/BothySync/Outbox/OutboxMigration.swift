import BothyStore
import GRDB

/// Applies a schema migration to the pending entries, so that a full outbox survives an update of the app.
///
/// Bases, server versions and sent operations are JSON by field name, and all of them are rewritten. An operation
/// already sent keeps its id. If the server has applied it, the device receives its outcome and not its content.
struct OutboxMigration {
  private let database: Database
  private let transaction: ReadTransaction

  init(database: Database) {
    self.database = database
    transaction = ReadTransaction(database, Catalog(StoreSchema(types: [])))
  }

  func run(_ step: Migration.Step) throws {
    switch step {
    case .renameType(let from, let to):
      for table in [
        "bothy_outbox", "bothy_later", "bothy_doubt", "bothy_unreadable", "bothy_refetch", "bothy_given",
        "bothy_journal", "bothy_sharing", "bothy_coverage", "bothy_stale", "bothy_replaced",
      ] {
        // A dropped type that had the name has left a mark, which this one may have too.
        try database.execute(
          sql: "UPDATE OR REPLACE \(table) SET type = ?2 WHERE type = ?1", arguments: [from, to])
      }
      try forEachDocument {
        try database.execute(
          sql: "UPDATE \($0) SET \($1) = json_set(\($1), '$.type', ?1) WHERE type = ?1", arguments: [to])
      }
      try renameRefused(record: { $0.type == from ? RecordID(type: to, id: $0.id) : $0 })
      try forgetStagedPages()
    case .dropType(let type):
      try Journal.drop(type: type, in: database)
      for table in [
        "bothy_outbox", "bothy_later", "bothy_doubt", "bothy_unreadable", "bothy_refetch", "bothy_given",
        "bothy_stale", "bothy_coverage", "bothy_sharing", "bothy_replaced",
      ] {
        try database.execute(sql: "DELETE FROM \(table) WHERE type = ?", arguments: [type])
      }
      // A later version of the app may declare a type of this name, whose records are on the server.
      try database.execute(
        sql: "INSERT INTO bothy_refetch VALUES (?, ?, NULL, random())", arguments: [type, ""])
    case .makeSensitive(let type, let field):
      try database.execute(
        sql: "INSERT OR REPLACE INTO bothy_sync (key, value) VALUES (?, '1')",
        arguments: [SecretAttachment.movedKey])
      try rewrite(type) { $2[field] = nil }
      try Journal.rewrite(type, in: transaction) { $0[field] = nil }
      for (table, column) in [("bothy_replaced", "fields"), ("bothy_given", "fields")] {
        try rewrite(type, in: table, column, isWhole: false) { $0[field] = nil }
      }
      try renameUnreadable(type) { $0 == field ? nil : $0 }
      // The conditions of answered queries may have values of the field too.
      try transaction.run("DELETE FROM bothy_coverage WHERE type = ?", type)
      try forgetStagedPages()
      try sendSecretsAfterDoubt(of: type)
    // `rename` changes names and `convert` changes values. Other devices keep a field that is dropped here.
    case .renameField, .dropField, .convertField: break
    }
  }

  /// Calls `body` with each table and column of operations and of the server's records.
  private func forEachDocument(_ body: (String, String) throws -> Void) rethrows {
    for (table, column) in [
      ("bothy_outbox", "sent"), ("bothy_outbox", "remote_version"), ("bothy_later", "sent"),
      ("bothy_doubt", "sent"), ("bothy_doubt", "remote_version"), ("bothy_unreadable", "record"),
      ("bothy_stale", "told"),
    ] {
      try body(table, column)
    }
  }

  /// Gives a container its new name in all that sync keeps. The rows of the types have it already.
  func rename(container from: String, to: String) throws {
    func rename(_ table: String, _ column: String, where condition: String = "1") throws {
      try database.execute(
        sql: "UPDATE OR IGNORE \(table) SET \(column) = ?2 WHERE \(column) = ?1 AND \(condition)",
        arguments: [from, to])
    }
    for table in [
      "bothy_outbox", "bothy_later", "bothy_doubt", "bothy_unreadable", "bothy_cursor", "bothy_refetch",
      "bothy_given", "bothy_replaced",
    ] {
      try rename(table, "container")
    }
    for table in ["bothy_outbox", "bothy_later", "bothy_doubt"] { try rename(table, "awaited_in") }
    try rename("bothy_journal", "place")
    // A container that is pulled once more is named by the id.
    try rename("bothy_refetch", "id", where: "type = ''")
    func renameMember(_ table: String, _ column: String) throws {
      try database.execute(
        sql: """
          UPDATE OR IGNORE \(table) SET \(column) = json_set(\(column), '$.container', ?2)
          WHERE json_extract(\(column), '$.container') = ?1
          """, arguments: [from, to])
    }
    try forEachDocument(renameMember)
    try renameMember("bothy_coverage", "query")
    try renameMember("bothy_unknown", "record")
    try SubscriptionTable.rename(from, to, in: transaction)
    try forgetStagedPages()
  }

  /// Has the secrets of changes without an answer sent once more after the answer. A server that has such a change already
  /// takes no secrets with its repetition.
  private func sendSecretsAfterDoubt(of type: String) throws {
    for table in ["bothy_outbox", "bothy_later"] {
      try database.execute(
        sql: """
          UPDATE \(table) SET revision = revision + 1
          WHERE type = ? AND kind <> 2 AND operation IS NOT NULL AND awaiting <> 4
          """, arguments: [type])
    }
  }

  /// Converts the values of a field in content that was made here, and in the states that it was made on. So a change of
  /// other fields doesn't send the field, and a merge knows what was changed here.
  func convert(_ field: String, of type: String, _ value: (JSONValue) throws -> JSONValue) throws {
    try rewrite(type) { table, column, members in
      switch column {
      // Values that the server reported are read like those that arrive, which may be of either kind.
      case "remote_version", "told": return
      case "former": members[field] = nil
      // The server may still receive the operation. Null clears the field.
      case "sent": convertKnown(field, in: &members, value, keepsNull: true)
      case "base" where table != "bothy_later": convertKnown(field, in: &members, value)
      default:
        let converted = try value(members[field] ?? .null)
        members[field] = converted.isNull ? nil : converted
      }
    }
    try rewrite(type, in: "bothy_given", "fields", isWhole: false) { members in
      convertKnown(field, in: &members, value)
    }
    try requestPending(type)
    // A lost value that can't be converted stays as it is, and restoring it reports that. The values of others' changes
    // are forgotten.
    try Journal.rewrite(type, in: transaction, ofValues: true) { members in
      guard let before = members[field], let converted = try? value(before) else { return }
      members[field] = converted.isNull ? nil : converted
    }
    try rewrite(type, in: "bothy_replaced", "fields", isWhole: false) { $0[field] = nil }
  }

  /// Converts a value that the server has or was sent. One for which the step throws is left out, so that the present one
  /// counts as changed.
  private func convertKnown(
    _ field: String, in members: inout [String: JSONValue], _ value: (JSONValue) throws -> JSONValue,
    keepsNull: Bool = false
  ) {
    guard let before = members[field] else { return }
    let converted = try? value(before)  // nil: the step throws for it
    members[field] = converted?.isNull == true && !keepsNull ? nil : converted
  }

  /// Has the next pull request the records with pending changes, because their rows don't have the server's values of the
  /// old kind aside.
  private func requestPending(_ type: String) throws {
    try transaction.run(
      """
      INSERT OR REPLACE INTO bothy_refetch
      SELECT type, id, coalesce(container, json_extract(sent, '$.container')), random() FROM bothy_outbox
      WHERE type = ? AND awaiting = 0 AND (base_version IS NOT NULL OR operation IS NOT NULL)
      """, type)
  }

  func pending(of type: String) throws -> Set<String> {
    Set(
      try transaction.rows(
        "SELECT id FROM bothy_outbox WHERE type = ?1 UNION SELECT id FROM bothy_later WHERE type = ?1", type
      ) { $0.text(at: 0) })
  }

  /// Gives the members of all documents of a type their new names.
  func rename(_ type: String, from old: NameMap, to new: NameMap) throws {
    try rewrite(type) { $2 = new.local($2, of: old) }
    try renameUnreadable(type) { new.local(old.wire($0)) }
    try rewrite(type, in: "bothy_given", "fields", isWhole: false) { $0 = new.local($0, of: old) }
    try Journal.rewrite(type, in: transaction) { $0 = new.local($0, of: old) }
    try rewrite(type, in: "bothy_replaced", "fields", isWhole: false) { $0 = new.local($0, of: old) }
    try renameRefused(of: type, field: { new.local(old.wire($0)) })
    // Answered queries have the old names, which may be those of other fields now.
    try transaction.run("DELETE FROM bothy_coverage WHERE type = ?", type)
    try forgetStagedPages()
  }

  /// Renames the members of records that can't be read here, and removes those for which `name` returns `nil`. Such a
  /// record may be nested deeper than any value that is read.
  private func renameUnreadable(_ type: String, _ name: (String) -> String?) throws {
    let records = try transaction.rows(
      "SELECT record FROM bothy_unreadable WHERE type = ? AND record IS NOT NULL", type
    ) { try ServerRecord(json: $0.bytes(at: 0)) }
    for var record in records {
      record.fields = record.fields.renamed(name)
      try transaction.run(
        "UPDATE bothy_unreadable SET record = ? WHERE type = ? AND id = ?", record.json, type, record.id.id)
    }
  }

  /// Renames records and fields in the reasons of rejections.
  private func renameRefused(
    of type: String? = nil, record: (RecordID) -> RecordID = { $0 }, field: (String) -> String = { $0 }
  ) throws {
    for table in ["bothy_outbox", "bothy_doubt", "bothy_journal"] {
      let reasons = try transaction.rows(
        "SELECT DISTINCT reason FROM \(table) WHERE reason IS NOT NULL AND (?1 IS NULL OR type = ?1)", type
      ) { $0.text(at: 0) }
      for reason in reasons {
        var rejection = try Rejection(json: reason)
        for index in rejection.fields.indices {
          rejection.fields[index].record = rejection.fields[index].record.map(record)
          rejection.fields[index].field = field(rejection.fields[index].field)
        }
        try transaction.run(
          "UPDATE \(table) SET reason = ?3 WHERE reason = ?2 AND (?1 IS NULL OR type = ?1)", type, reason,
          rejection.json)
      }
    }
  }

  /// Deletes the pages of incomplete pulls, which have the old names, and values that become sensitive. They are requested
  /// again, and the server says again if they are a snapshot.
  private func forgetStagedPages() throws {
    try database.execute(
      sql: "DELETE FROM bothy_stage; UPDATE bothy_cursor SET staged = NULL, resetting = 0")
  }

  /// - Parameter change: gets the table, the column and the members.
  private func rewrite(
    _ type: String, _ change: (String, String, inout [String: JSONValue]) throws -> Void
  ) throws {
    for (column, isWhole) in [
      ("base", false), ("last", false), ("awaited", false), ("former", false), ("sent", true),
      ("remote_version", true),
    ] {
      for table in ["bothy_outbox", "bothy_later", "bothy_doubt"] {
        try rewrite(type, in: table, column, isWhole: isWhole) { try change(table, column, &$0) }
      }
    }
    try rewrite(type, in: "bothy_stale", "told", isWhole: true) { try change("bothy_stale", "told", &$0) }
  }

  private func rewrite(
    _ type: String, in table: String, _ column: String, isWhole: Bool,
    _ change: (inout [String: JSONValue]) throws -> Void
  ) throws {
    let rows = try transaction.rows(
      "SELECT DISTINCT id, \(column) FROM \(table) WHERE type = ? AND \(column) IS NOT NULL", type
    ) { (id: $0.text(at: 0), document: $0.text(at: 1) ?? "") }
    for row in rows {
      try transaction.run(
        "UPDATE \(table) SET \(column) = ?3 WHERE type = ?1 AND id = ?2 AND \(column) = ?4", type, row.id,
        Self.rewritten(row.document, isWhole: isWhole, change), row.document)
    }
  }

  /// Returns a fields document with `change` made. If `isWhole`, the document is an operation or a server's record with
  /// the fields.
  private static func rewritten(
    _ document: String, isWhole: Bool, _ change: (inout [String: JSONValue]) throws -> Void
  ) throws -> [UInt8] {
    guard isWhole else {
      var members = try FieldsDocument(canonical: Array(document.utf8)).members()
      try change(&members)
      return FieldsDocument(members).bytes
    }
    var whole = try JSONValue(parsing: document).objectValue ?? [:]
    if var members = whole["fields"]?.objectValue {
      for name in whole["cleared"]?.arrayValue?.compactMap(\.stringValue) ?? [] { members[name] = .null }
      try change(&members)
      let cleared = members.filter { $0.value.isNull }.keys.sorted()
      whole["fields"] = .object(members.filter { !$0.value.isNull })
      whole["cleared"] = cleared.isEmpty ? nil : .array(cleared.map { .string($0) })
    }
    var writer = JSONWriter()
    JSONValue.object(whole).write(to: &writer)
    return writer.bytes
  }
}
