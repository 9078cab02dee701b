import BothyStore
import BothySyncService

/// The entries of indexes of fields, and the state of these indexes in the row of the space.
extension PostgresTransaction {
  func entries(in range: FieldEntryRange, after: FieldEntry?, descending: Bool, limit: Int) throws
    -> [FieldEntry]
  {
    var select = statement(descending ? StorageSQL.entriesBackward : StorageSQL.entriesForward)
    select.bind(range.index)
    select.bind(bytes: after?.key ?? range.lower)
    // No id is empty, so all of the first key come after this.
    if !descending { select.bind(after?.id ?? "") }
    select.bind(bytes: range.upper)
    select.bind(Int64(limit))
    let rows = try read(select)
    try watch?.check()
    return (0..<rows.count).map { row in
      FieldEntry(index: range.index, key: rows.bytes(row, 0), id: rows.text(row, 1) ?? "")
    }
  }

  func entryCounts(in ranges: [FieldEntryRange], limit: Int) throws -> [Int] {
    guard !ranges.isEmpty else { return [] }
    let counts = ranges.map { range in
      var count = statement(StorageSQL.entryCount)
      count.bind(range.index)
      count.bind(bytes: range.lower)
      count.bind(bytes: range.upper)
      count.bind(Int64(limit))
      return count
    }
    return try connection.run(takeWaiting() + counts).suffix(ranges.count).map { Int($0.int(0, 0)) }
  }

  func note(_ new: [FieldEntry], forgetting gone: [FieldEntry]) throws {
    var start = 0
    for part in RowInsert.parts(of: gone.count) {
      guard let sql = StorageSQL.forgetEntries[part] else { continue }
      var delete = statement(sql)
      for entry in gone[start..<start + part] { Self.bind(entry, to: &delete) }
      write(delete)
      start += part
    }
    write(StorageSQL.noteEntries, new) { Self.bind($1, to: &$0) }
  }

  private static func bind(_ entry: FieldEntry, to statement: inout PostgresStatement) {
    statement.bind(entry.index)
    statement.bind(bytes: entry.key)
    statement.bind(entry.id)
  }

  func setFieldIndexes(_ state: FieldIndexState) throws {
    var update = statement(StorageSQL.setFieldIndexes)
    update.bind(state.text)
    update.bind(state.position)
    write(update)
    fieldIndexes = state
  }
}
