/// Remembering what this process changes, for later saves of other values of the same records.
extension WriteTransaction {
  /// The largest number of changes of one transaction that are remembered, the first ones. Bulk work costs no more then,
  /// and doesn't displace the changes that people made.
  private static let limit = 1_000

  /// Remembers a save of `saved`, which changed a row from `before` to `now`.
  ///
  /// - Parameter unseen: the fields that others changed and the saved value doesn't show.
  func note(
    _ saved: [FieldValue], readAs mark: ReadMark, over before: [FieldValue], now: [FieldValue],
    unseen: Set<Int> = [], _ table: TypeTable, id: String
  ) {
    guard keepsNews, madeCount < Self.limit, table.schema.isSynced else { return }
    var change = OwnChange()
    if mark.reading != 0 {
      (change.reading, change.given, change.unseen) = (mark.reading, saved, unseen)
      for position in now.indices where now[position] != saved[position] {
        change.otherwise.append((position, now[position]))
      }
    }
    for position in now.indices where now[position] != before[position] {
      change.before.append((position, before[position]))
    }
    if !change.before.isEmpty || !change.given.isEmpty { note(change, table, id: id) }
  }

  /// Remembers the fields that this device changed elsewhere and a row shows from now on.
  func note(own: [Int: FieldValue], over before: [FieldValue], _ table: TypeTable, id: String) {
    var now = before
    for (position, value) in own { now[position] = value }
    note(now, readAs: .whole, over: before, now: now, table, id: id)
  }

  private func note(_ change: OwnChange, _ table: TypeTable, id: String) {
    madeCount += 1
    made[RecordID(type: table.schema.name, id: id), default: []].append(change)
  }

  /// Returns the last change of a record by this transaction.
  package func lastOwnChange(of id: RecordID) -> OwnChange? { made[id]?.last }
}
