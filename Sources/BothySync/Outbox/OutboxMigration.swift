import BothyStore
import GRDB

/// Carries a schema migration into the pending entries, so that a full outbox survives an update of the app.
///
/// Bases, shadows and what was sent are JSON by field name. An operation already sent keeps its old names: its
/// outcome is asked for, not its content.
struct OutboxMigration {
  let database: Database

  func run(_ step: Migration.Step) throws {
    switch step {
    case .renameType(let from, let to):
      for table in ["bothy_outbox", "bothy_unknown"] {
        try database.execute(sql: "UPDATE \(table) SET type = ?2 WHERE type = ?1", arguments: [from, to])
      }
    case .dropType(let type):
      try database.execute(sql: "DELETE FROM bothy_outbox WHERE type = ?", arguments: [type])
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
      "SELECT id, base, last FROM bothy_outbox WHERE type = ?", in: database)
    let update = try PreparedStatement(
      "UPDATE bothy_outbox SET base = ?3, last = ?4 WHERE type = ?1 AND id = ?2", in: database)
    select.bind(type, at: 1)
    var rows: [(id: String, documents: [String?])] = []
    while try select.step() { rows.append((select.text(at: 0) ?? "", [select.text(at: 1), select.text(at: 2)])) }
    select.reset()
    for row in rows {
      update.bind(type, at: 1)
      update.bind(row.id, at: 2)
      for (index, document) in row.documents.enumerated() {
        guard let document else {
          update.bind(String?.none, at: Int32(index + 3))
          continue
        }
        var members = try FieldsDocument(canonical: Array(document.utf8)).members()
        change(&members)
        update.bind(utf8: FieldsDocument(members).bytes, at: Int32(index + 3))
      }
      try update.run()
    }
  }
}
