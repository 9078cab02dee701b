/// Saving values that were read before others changed their records.
extension WriteTransaction {
  /// Preserves the changes of others since the values were read, in fields that the caller didn't change. A field with
  /// one of the replaced values counts as not edited. Returns the values as read of the fields that both sides changed.
  ///
  /// A field that this device alone changed since is merged as one person's two edits of it.
  func leaveNews(
    in values: inout [FieldValue], readAs mark: ReadMark, over before: StoredRow, _ table: TypeTable,
    id: String
  ) throws -> Change.Stale? {
    guard tells(of: table, since: mark),
      values != before.values || table.schema.fields.contains(where: { $0.merge == .counter }),
      mark.number < 0 || mark.number != ReadMark.number(of: before.version)
    else { return nil }
    var news = try ReplacedFields.entries(since: mark, table, id: id, in: self)
    if ReplacedFields.isContinued(news, by: values, table.schema) { news.removeAll { $0.kind == .own } }
    let isPast = try ReplacedFields.isPast(mark, version: before.version, in: self)
    guard let version = news.first?.was ?? (isPast ? String(max(0, mark.number)) : nil) else { return nil }
    var stale = Change.Stale(version: version, values: [:])
    for (position, field) in table.schema.fields.enumerated() {
      let (value, now) = (values[position], before.values[position])
      let replaced = news.compactMap { $0.fields[position] }
      // A counter that was raised to the present number was raised all the same.
      guard value != now || field.merge == .counter && replaced.first ?? now != now else { continue }
      // A record that returns to this device with its old value brought no change.
      let known = news.filter { $0.hashes[position] == nil || !$0.had(now, at: position) }
      if let told = news.compactMap({ $0.news[position] }).last, told != ReplacedFields.hash(of: now) {
        continue  // This device has changed the field since, after it received the change.
      }
      if known.contains(where: { $0.had(value, at: position) }) {
        values[position] = now
      } else if let read = replaced.first, let recorder, !isPast,
        !news.contains(where: { $0.kind != .own && $0.fields[position] != nil })
      {
        values[position] = try recorder.later(value, than: now, readAs: read, field)
      } else if let read = replaced.first {
        stale.values[position] = read
      } else if isPast || known.contains(where: { $0.hashes[position] != nil }) {
        stale.values[position] = FieldValue.null
      }
    }
    return stale.values.isEmpty ? nil : stale
  }

  /// Returns the deletion by others of a record that existed when a value was read.
  func deletion(since mark: ReadMark, _ table: TypeTable, id: String) throws -> ReplacedFields.Entry? {
    guard tells(of: table, since: mark) else { return nil }
    return try ReplacedFields.entries(since: mark, table, id: id, in: self).last { $0.isGone }
  }

  private func tells(of table: TypeTable, since mark: ReadMark) -> Bool {
    table.schema.isSynced && recorder != nil && mark.number != ReadMark.whole.number
  }
}
