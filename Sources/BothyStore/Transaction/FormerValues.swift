/// The values that the changes of a pending record replaced, as its entry keeps them for the other processes of the
/// device. With them a value that another process read earlier is distinguished from an edit.
///
/// A process knows its own changes from memory (`OwnChanges`), and `ReplacedFields` has those of other devices. As JSON,
/// an object has a list for each field with its changes, the oldest first. A change is a list of the number of its
/// store, its time by the file's `DeviceTime`, the reading of the value that was saved, and the field's value before.
package struct FormerValues: Sendable {
  /// The most changes of one field that are kept: the first and the newest.
  static let limit = 4
  /// The bytes of a field's list above which the first change alone is kept.
  static let longest = 1024

  private var changes: [String: [JSONValue]] = [:]

  /// Creates the values that a change has replaced. None if it has created or deleted the record.
  ///
  /// - Parameter shown: The row, if it shows more than the change since.
  package init(
    of change: Change, shown: StoredRow? = nil, _ table: TypeTable, in transaction: WriteTransaction
  ) {
    guard let update = change.update, let before = change.before else { return }
    note(before.values, shown?.values ?? update.values, reading: update.reading, table, in: transaction)
  }

  /// Creates the values that a hidden save has replaced, of which the row was `before` and is `shown`.
  package init(
    revealing id: RecordID, over before: StoredRow, shown: StoredRow, _ table: TypeTable,
    in transaction: WriteTransaction
  ) {
    let reading = transaction.ownChanges?.hidden(of: id)?.reading ?? 0
    note(before.values, shown.values, reading: reading, table, in: transaction)
  }

  private mutating func note(
    _ before: [FieldValue], _ now: [FieldValue], reading: Int64, _ table: TypeTable,
    in transaction: WriteTransaction
  ) {
    guard let others = transaction.ownChanges?.others else { return }
    let (store, time) = (others.own, others.fileTime(of: Reading.next()))
    for position in now.indices where now[position] != before[position] {
      changes[table.schema.fields[position].name] = [
        .array([.int(store), .int(time), .int(reading), before[position].json])
      ]
    }
  }

  /// Reads the JSON of an entry. Nil has no values.
  package init(_ json: [UInt8]?) throws {
    guard let json else { return }
    changes = try JSONValue(parsing: json).objectValue?.mapValues { $0.arrayValue ?? [] } ?? [:]
  }

  /// Returns the JSON of an entry with these values added as the newest. Nil without any.
  package func added(to json: [UInt8]?) throws -> [UInt8]? {
    if changes.isEmpty { return json }
    var all = try FormerValues(json).changes
    for (name, later) in changes { all[name] = Self.shortened((all[name] ?? []) + later) }
    var writer = JSONWriter(reserving: 64)
    JSONValue.write(all.mapValues { .array($0) }, to: &writer)
    return writer.bytes
  }

  /// Drops the changes after the first until a field's list is short enough. A value that was read between those counts
  /// as edited again.
  private static func shortened(_ changes: [JSONValue]) -> [JSONValue] {
    var kept = changes
    while kept.count > 1
      && (kept.count > limit || JSONValue.array(kept).canonicalText.utf8.count > longest)
    { kept.remove(at: 1) }
    return kept
  }

  /// The changes to look for: those that other stores than this one made after a time.
  struct Wanted {
    var besides: Int64
    /// By the file's `DeviceTime`.
    var after: Int64
    /// The reading of the value. Another store of this process may have saved it.
    var reading: Int64
  }

  /// Returns the wanted changes since the value's own last save, each as an entry with one field, in any order.
  static func entries(
    of all: [FormerValues], _ wanted: Wanted, _ table: TypeTable
  ) -> [ReplacedFields.Entry] {
    let steps = all.flatMap { $0.steps(table) }
    // Readings of two processes may be equal.
    let saved = steps.filter {
      $0.reading == wanted.reading && OtherStores.isOneProcess($0.store, wanted.besides)
    }.map(\.entry.noted).max()
    let start = max(wanted.after, saved ?? 0)
    return steps.filter { $0.store != wanted.besides && $0.entry.noted > start }.map(\.entry)
  }

  /// One change of one field.
  private struct Step {
    var store: Int64
    var reading: Int64
    var entry: ReplacedFields.Entry
  }

  /// Returns all changes of the fields that the table has.
  private func steps(_ table: TypeTable) -> [Step] {
    var steps: [Step] = []
    for (name, list) in changes {
      guard let position = table.positions[name] else { continue }
      for change in list {
        guard let parts = change.arrayValue, parts.count == 4, let store = parts[0].intValue,
          let time = parts[1].intValue, let reading = parts[2].intValue,
          // A field that has another kind by now is left out.
          let value = try? FieldValue(json: parts[3], kind: table.schema.fields[position].kind)
        else { continue }
        let entry = ReplacedFields.Entry(
          version: 0, kind: .former, fields: [position: value], noted: time)
        steps.append(Step(store: store, reading: reading, entry: entry))
      }
    }
    return steps
  }
}
