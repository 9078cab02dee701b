/// Saving values that were read before their records changed.
extension WriteTransaction {
  /// Preserves the changes since the values were read, in fields that the caller didn't edit. A field with one of the
  /// replaced values counts as not edited. Returns the values as read of the fields that others and the caller changed.
  ///
  /// A field that this device alone changed since is merged as one person's two edits of it. The values are compared
  /// with their last save, if they were saved before.
  func leaveNews(
    in values: inout [FieldValue], readAs mark: ReadMark, over before: StoredRow, _ table: TypeTable,
    id: String
  ) throws -> Change.Stale? {
    guard tells(of: table, since: mark), let recorder,
      values != before.values || table.schema.fields.contains(where: { $0.merge == .counter })
    else { return nil }
    let record = RecordID(type: table.schema.name, id: id)
    let own =
      ownChanges?.since(
        mark, record, with: made[record] ?? [], by: values, table.schema)
      ?? OwnChangesSince(others: [])
    let mark = own.saved.map { ReadMark(number: -$0.time, reading: mark.reading) } ?? mark
    guard
      own.saved != nil || !own.others.isEmpty || mark.number < 0
        || mark.number != ReadMark.number(of: before.version)
    else { return nil }
    let news = RecordNews(
      own: own, others: try ReplacedFields.entries(since: mark, table, id: id, in: self),
      isPast: try ReplacedFields.isPast(mark, version: before.version, in: self))
    var stale: [Int: FieldValue] = [:]
    for (position, field) in table.schema.fields.enumerated() {
      let (value, now) = (values[position], before.values[position])
      switch news.part(of: value, at: position, now: now, isCounter: field.merge == .counter) {
      case .given: break
      case .unedited: values[position] = now
      case .later(let read): values[position] = try recorder.later(value, than: now, readAs: read, field)
      case .conflict(let read): stale[position] = read
      }
    }
    return stale.isEmpty ? nil : Change.Stale(version: news.version(of: mark), values: stale)
  }

  /// Returns the deletion by others of a record that existed when a value was read.
  func deletion(since mark: ReadMark, _ table: TypeTable, id: String) throws -> ReplacedFields.Entry? {
    guard tells(of: table, since: mark) else { return nil }
    return try ReplacedFields.entries(since: mark, table, id: id, in: self).last { $0.isGone }
  }

  /// Edits a record in the state before others deleted it.
  func edit(
    _ table: TypeTable, id: String, values: [FieldValue], readAs mark: ReadMark,
    deletedBy news: ReplacedFields.Entry
  ) throws {
    let read = StoredRow(
      values: table.schema.fields.indices.map { news.fields[$0] ?? .null }, container: news.container,
      version: news.was)
    let values = conceal(values, table, id)
    guard let version = news.was, values != read.values else { return }
    try checkUnique(table, id: id, values)
    try insertRow(table, id: id, container: news.container) { encoder in
      for (field, value) in zip(table.schema.fields, values) { encoder.encode(value, kind: field.kind) }
    }
    try link(table, id: id, values)
    try setVersion(version, table, id: id)
    note(values, readAs: mark, over: read.values, now: values, table, id: id)
    changed(
      .update, table, id, before: read,
      stale: Change.Stale(version: version, values: [:], deletion: String(news.version)))
    try flushIfFull()
  }

  private func tells(of table: TypeTable, since mark: ReadMark) -> Bool {
    table.schema.isSynced && recorder != nil && mark.number != ReadMark.whole.number
  }
}
