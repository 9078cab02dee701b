import BothyStore
import GRDB

/// Carries a schema migration into the pending entries, so that a full outbox survives an update of the app.
///
/// Bases, shadows and what was sent are JSON by field name, and all of them are rewritten. An operation already
/// sent keeps its id: if the server has made it, its outcome is asked for, not its content.
struct OutboxMigration {
  let database: Database

  func run(_ step: Migration.Step) throws {
    switch step {
    case .renameType(let from, let to):
      for table in ["bothy_outbox", "bothy_unknown", "bothy_unreadable", "bothy_journal"] {
        try database.execute(sql: "UPDATE \(table) SET type = ?2 WHERE type = ?1", arguments: [from, to])
      }
      try database.execute(
        sql: """
          UPDATE bothy_outbox SET sent = json_set(sent, '$.type', ?1), shadow = json_set(shadow, '$.type', ?1)
          WHERE type = ?1
          """, arguments: [to])
      for table in ["bothy_unknown", "bothy_unreadable"] {
        try database.execute(
          sql: "UPDATE \(table) SET record = json_set(record, '$.type', ?1) WHERE type = ?1", arguments: [to])
      }
    case .dropType(let type):
      for table in ["bothy_outbox", "bothy_unreadable", "bothy_journal"] {
        try database.execute(sql: "DELETE FROM \(table) WHERE type = ?", arguments: [type])
      }
    case .makeSensitive(let type, let field):
      try database.execute(
        sql: "INSERT OR REPLACE INTO bothy_sync (key, value) VALUES (?, '1')",
        arguments: [SecretWork.movedKey])
      try rewrite(type) { $0[field] = nil }
    case .renameField(let type, let from, let to):
      try rewrite(type) { members in
        if let value = members.removeValue(forKey: from) { members[to] = value }
      }
    case .dropField(let type, let field):
      try rewrite(type) { $0[field] = nil }
    case .convertField(let type, let field, _):
      // The base cannot be converted back to what the server has; without the field in the base, the converted
      // value is sent as changed.
      try rewrite(type) { $0[field] = nil }
    }
  }

  private func rewrite(_ type: String, _ change: (inout [String: JSONValue]) -> Void) throws {
    let select = try PreparedStatement(
      "SELECT id, base, last, sent, shadow FROM bothy_outbox WHERE type = ?", in: database)
    let update = try PreparedStatement(
      "UPDATE bothy_outbox SET base = ?3, last = ?4, sent = ?5, shadow = ?6 WHERE type = ?1 AND id = ?2",
      in: database)
    select.bind(type, at: 1)
    var rows: [(id: String, documents: [String?])] = []
    while try select.step() { rows.append((select.text(at: 0) ?? "", (1...4).map { select.text(at: $0) })) }
    select.reset()
    for row in rows {
      update.bind(type, at: 1)
      update.bind(row.id, at: 2)
      for (index, document) in row.documents.enumerated() {
        guard let document else {
          update.bind(String?.none, at: Int32(index + 3))
          continue
        }
        update.bind(utf8: try Self.rewritten(document, isWhole: index > 1, change), at: Int32(index + 3))
      }
      try update.run()
    }
  }

  /// A fields document with `change` made; or, if `isWhole`, the operation or server's record that carries one.
  private static func rewritten(
    _ document: String, isWhole: Bool, _ change: (inout [String: JSONValue]) -> Void
  ) throws -> [UInt8] {
    guard isWhole else {
      var members = try FieldsDocument(canonical: Array(document.utf8)).members()
      change(&members)
      return FieldsDocument(members).bytes
    }
    var whole = try JSONValue(parsing: document).objectValue ?? [:]
    if var members = whole["fields"]?.objectValue {
      for name in whole["cleared"]?.arrayValue?.compactMap(\.stringValue) ?? [] { members[name] = .null }
      change(&members)
      let cleared = members.filter { $0.value.isNull }.keys.sorted()
      whole["fields"] = .object(members.filter { !$0.value.isNull })
      whole["cleared"] = cleared.isEmpty ? nil : .array(cleared.map { .string($0) })
    }
    var writer = JSONWriter()
    JSONValue.object(whole).write(to: &writer)
    return writer.bytes
  }
}
