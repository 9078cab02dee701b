import BothyStore

/// The history of changes with user and time, appended with each change and dropped beyond a number.
extension SQLiteServerTransaction {
  func put(_ entries: [HistoryEntry], keeping limit: Int) throws {
    if limit > 0 { try insert(entries) }
    // It is cut occasionally, not with each change, because finding the limit scans the kept entries.
    let distance = Int64(max(256, limit / 8))
    if entries.contains(where: { $0.position % distance == 0 }) { try cut(to: max(0, limit)) }
  }

  private func insert(_ entries: [HistoryEntry]) throws {
    let insert = try PreparedStatement(
      "INSERT OR REPLACE INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", in: database)
    insert.bind(space, at: 1)
    for entry in entries {
      insert.bind(entry.position, at: 2)
      insert.bind(entry.container, at: 3)
      insert.bind(entry.record.type, at: 4)
      insert.bind(entry.record.id, at: 5)
      insert.bind(entry.kind.number, at: 6)
      insert.bind(entry.movedFrom, at: 7)
      insert.bind(entry.user, at: 8)
      insert.bind(entry.time, at: 9)
      insert.bind(entry.fields.joined(separator: "\u{1f}"), at: 10)
      try insert.run()
    }
  }

  private func cut(to limit: Int) throws {
    let delete = try PreparedStatement(
      """
      DELETE FROM history WHERE space = ?1 AND position <= (
        SELECT position FROM history WHERE space = ?1 ORDER BY position DESC LIMIT 1 OFFSET ?2)
      """, in: database)
    delete.bind(space, at: 1)
    delete.bind(Int64(limit), at: 2)
    try delete.run()
  }

  func history(_ query: HistoryQuery) throws -> [HistoryEntry] {
    let select = try PreparedStatement(
      """
      SELECT position, container, type, id, kind, moved_from, principal, time, fields FROM history
      WHERE space = ?1 AND position < ?2 AND \(Self.filter(query.scope)) AND (?4 IS NULL OR (type = ?4 AND id = ?5))
      ORDER BY position DESC LIMIT ?6
      """, in: database)
    select.bind(space, at: 1)
    select.bind(query.before ?? .max, at: 2)
    select.bind(query.scope.container, at: 3)
    select.bind(query.record?.type, at: 4)
    select.bind(query.record?.id, at: 5)
    select.bind(Int64(query.limit), at: 6)
    return try entries(select)
  }

  func history(after position: Int64, limit: Int) throws -> [HistoryEntry] {
    let select = try PreparedStatement(
      """
      SELECT position, container, type, id, kind, moved_from, principal, time, fields FROM history
      WHERE space = ?1 AND position > ?2 ORDER BY position LIMIT ?3
      """, in: database)
    select.bind(space, at: 1)
    select.bind(position, at: 2)
    select.bind(Int64(limit), at: 3)
    return try entries(select)
  }

  private func entries(_ select: PreparedStatement) throws -> [HistoryEntry] {
    defer { select.reset() }
    var found: [HistoryEntry] = []
    while try select.step() {
      found.append(
        HistoryEntry(
          position: select.int(at: 0), kind: ChangeKind(number: select.int(at: 4)),
          record: RecordID(type: select.text(at: 2) ?? "", id: select.text(at: 3) ?? ""),
          container: select.text(at: 1) ?? "", movedFrom: select.text(at: 5), user: select.text(at: 6),
          time: select.int(at: 7),
          fields: (select.text(at: 8) ?? "").split(separator: "\u{1f}").map(String.init)))
    }
    return found
  }
}
