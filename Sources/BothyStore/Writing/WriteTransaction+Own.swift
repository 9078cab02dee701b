/// Remembering what this process changes, for later saves of other values of the same records.
extension WriteTransaction {
  /// The largest number of changes of one transaction that are remembered.
  private static let limit = 20_000

  /// Remembers a save of `saved`, which changed a row from `before` to `now`.
  ///
  /// - Parameter unseen: the fields that others changed and the saved value doesn't show.
  func note(
    _ saved: [FieldValue], readAs mark: ReadMark, over before: [FieldValue], now: [FieldValue],
    unseen: Set<Int> = [], _ table: TypeTable, id: String
  ) {
    guard keepsNews, table.schema.isSynced else { return }
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
    guard keepsNews, !own.isEmpty else { return }
    var change = OwnChange()
    for (position, value) in own.sorted(by: { $0.key < $1.key }) where before[position] != value {
      change.before.append((position, before[position]))
    }
    if !change.before.isEmpty { note(change, table, id: id) }
  }

  private func note(_ change: OwnChange, _ table: TypeTable, id: String) {
    if madeCount >= Self.limit { (made, madeCount) = ([:], 0) }
    madeCount += 1
    made[RecordID(type: table.schema.name, id: id), default: []].append(change)
  }

  /// Returns the last change of a record by this transaction.
  package func lastOwnChange(of id: RecordID) -> OwnChange? { made[id]?.last }

  /// Returns the changes to remember when the transaction is durable. Called just before the commit.
  func committing() -> [RecordID: [OwnChange]] {
    let now = Reading.next()
    return made.mapValues {
      $0.map { change in
        var change = change
        change.committed = now
        return change
      }
    }
  }
}
