import BothyStore
import BothySyncService

/// The history of changes with user and time, appended with each change and dropped beyond a number.
extension PostgresTransaction {
  func put(_ entries: [HistoryEntry], keeping limit: Int) throws {
    if limit > 0, !entries.isEmpty { insert(entries) }
    // It is cut occasionally, not with each change, because finding the limit scans the kept entries.
    guard entries.contains(where: { $0.position % 256 == 0 }) else { return }
    var delete = statement(StorageSQL.cutHistory)
    delete.bind(Int64(max(0, limit)))
    write(delete)
  }

  private func insert(_ entries: [HistoryEntry]) {
    write(StorageSQL.putHistory, entries) { insert, entry in
      insert.bind(entry.position)
      insert.bind(entry.container)
      insert.bind(entry.record.type)
      insert.bind(entry.record.id)
      insert.bind(entry.kind.number)
      insert.bind(entry.movedFrom)
      insert.bind(entry.user)
      insert.bind(entry.time)
      insert.bind(JSONValue.array(entry.fields.map { .string($0) }).canonicalText)
    }
  }

  func history(_ query: HistoryQuery) throws -> [HistoryEntry] {
    var select = statement(StorageSQL.history(StorageSQL.Scope(query.scope)))
    select.bind(query.scope.container)
    select.bind(query.before ?? .max)
    select.bind(query.record?.type)
    select.bind(query.record?.id)
    select.bind(Int64(query.limit))
    return try entries(try read(select))
  }

  func history(after position: Int64, limit: Int) throws -> [HistoryEntry] {
    var select = statement(StorageSQL.historyAfter)
    select.bind(position)
    select.bind(Int64(limit))
    return try entries(try read(select))
  }

  private func entries(_ rows: PostgresResult) throws -> [HistoryEntry] {
    try (0..<rows.count).map { row in
      let fields = try JSONValue(parsing: rows.text(row, 8) ?? "[]").arrayValue ?? []
      return HistoryEntry(
        position: rows.int(row, 0), kind: ChangeKind(number: rows.int(row, 4)),
        record: RecordID(type: rows.text(row, 2) ?? "", id: rows.text(row, 3) ?? ""),
        container: rows.text(row, 1) ?? "", movedFrom: rows.text(row, 5), user: rows.text(row, 6),
        time: rows.int(row, 7), fields: fields.compactMap(\.stringValue))
    }
  }
}
