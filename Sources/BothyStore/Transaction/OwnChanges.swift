internal import Synchronization

/// A change that this process made to a record, as a later save of another value of the record needs it.
package struct OwnChange: Sendable {
  /// When it was made, in numbers of `Reading`.
  var made = Reading.next()
  /// When readers began to see its commit, in numbers of `Reading`.
  var committed = Int64.max
  /// When it was made, by `DeviceTime`.
  var time = DeviceTime.now()
  /// The reading of the value that was saved, or 0 if the change saved none.
  var reading: Int64 = 0
  /// All fields of the saved value, as the app gave them.
  package var given: [FieldValue] = []
  /// The fields that the record has otherwise than the saved value since, because others or this device changed them.
  var otherwise: [(position: Int, value: FieldValue)] = []
  /// The fields among those that others changed.
  var unseen: Set<Int> = []
  /// The fields that the change gave another value, by position, with the values before.
  var before: [(position: Int, value: FieldValue)] = []

  /// True if a value with the mark was read before the change.
  fileprivate func isAfter(_ mark: ReadMark) -> Bool {
    // A value that was read inside the transaction that made the change may have seen it before the commit.
    Reading.isInWrite(mark.reading) ? made > mark.reading : committed > mark.reading
  }

  /// The value that the record had in a field after the save.
  func became(at position: Int) -> FieldValue {
    otherwise.first { $0.position == position }?.value ?? given[position]
  }

  /// Converts the value that a field had before the change.
  mutating func replaced(at position: Int, as convert: (FieldValue) -> FieldValue) {
    for index in before.indices where before[index].position == position {
      before[index].value = convert(before[index].value)
    }
  }

  /// Returns the save of a value that is on its way to the server from now on. No row shows it yet, so values that are
  /// read from then on don't have it.
  ///
  /// - Parameter isWhole: true for a value that came without a reading.
  package func sending(isWhole: Bool) -> OwnChange? {
    guard !given.isEmpty else { return nil }
    var change = self
    if isWhole { change.reading = 0 }
    (change.made, change.time) = (Reading.next(), DeviceTime.now())
    change.committed = change.made
    return change
  }

  /// Returns the change as one of a value with another reading.
  package func read(as mark: ReadMark) -> OwnChange {
    var change = self
    change.reading = mark.reading
    return change
  }

  /// True if values with the same reading are those that were saved, changed further, and not another copy of the value
  /// read. They are if they equal the value read, which undoes the save. Else they have a field that was saved, or none
  /// that was replaced.
  ///
  /// - Parameter read: the values as they were read, of all fields that were saved otherwise.
  func isContinued(by values: [FieldValue], read: [Int: FieldValue], _ schema: TypeSchema) -> Bool {
    guard values.count == given.count else { return false }
    if values.indices.allSatisfy({ values[$0] == read[$0] ?? given[$0] }) { return true }
    let (kept, replaced) = evidence(in: values, read, schema)
    return kept > 0 || replaced == 0
  }

  /// True if values are those that were saved, changed further. Without a reading, values that were read from a row since
  /// are distinguished by the fields in which that row differs.
  package func isContinued(by values: [FieldValue], over row: StoredRow?, _ schema: TypeSchema) -> Bool {
    let read = Dictionary(before.map { ($0.position, $0.value) }) { first, _ in first }
    guard reading == 0 else { return isContinued(by: values, read: read, schema) }
    guard values.count == given.count else { return false }
    let row = Dictionary(
      uniqueKeysWithValues: values.indices.map { ($0, row?.values[$0] ?? .null) })
    let since = evidence(in: values, row, schema)
    return since == (0, 0) ? evidence(in: values, read, schema).replaced == 0 : since.kept >= since.replaced
  }

  /// Returns the number of fields that have the value saved, and of those that have the value before, among the fields
  /// that were saved otherwise. Numbers that are counted prove neither.
  private func evidence(
    in values: [FieldValue], _ read: [Int: FieldValue], _ schema: TypeSchema
  ) -> (kept: Int, replaced: Int) {
    var (kept, replaced) = (0, 0)
    for (position, old) in read where old != given[position] && schema.fields[position].merge != .counter {
      if values[position] == given[position] { kept += 1 }
      if values[position] == old { replaced += 1 }
    }
    return (kept, replaced)
  }

  /// About the bytes of memory that it keeps.
  fileprivate var cost: Int {
    200 + (given + (before + otherwise).map(\.value)).reduce(0) { $0 + 40 + $1.length }
  }
}

/// The changes since a value was read or saved.
struct OwnChangesSince {
  /// The last save of the value itself. Its fields are then the base of the next edit.
  var saved: OwnChange?
  /// The later changes of other values, the oldest first.
  var others: [OwnChange]
  /// True if the last save of the value is under way, and no row shows it.
  var isHidden = false

  /// Gives the changes of other values the times of the file in place of those of this process.
  mutating func convertTimes(by stores: OtherStores) {
    for index in others.indices { others[index].time = stores.fileTime(of: others[index].time) }
  }

  /// Returns the values that a field had before, the oldest first, each with the time of the change that replaced it.
  func replaced(at position: Int) -> [(value: FieldValue, time: Int64)] {
    others.compactMap { change in
      change.before.first { $0.position == position }.map { ($0.value, change.time) }
    }
  }
}

/// The changes of one transaction that are remembered from its commit on.
package struct OwnChangesMade: Sendable {
  var changes: [RecordID: [OwnChange]] = [:]
  /// The saves that begin to be hidden.
  var hidden: [RecordID: OwnChange] = [:]
  /// The records whose hidden saves have ended.
  var ended: Set<RecordID> = []

  fileprivate var isEmpty: Bool { changes.isEmpty && hidden.isEmpty && ended.isEmpty }

  /// - Parameter change: a change that no transaction of this device has made.
  package init(_ change: OwnChange, of id: RecordID) { changes = [id: [change]] }

  init() {}
}

/// The newest changes that this process made, in memory. With them an older copy of a record reverts no change of the
/// device itself, and a value that is saved, edited and saved again counts each edit once.
///
/// `ReplacedFields` has the changes of others, in the file. Holds at most `limit` bytes: 4 MiB, of about 10,000 changes.
package final class OwnChanges: Sendable {
  static let limit = 4 << 20
  /// The largest number of remembered changes of one record.
  static let limitOfRecord = 64

  private struct State {
    var changes: [RecordID: [OwnChange]] = [:]
    var cost = 0
    /// The saves that are under way to the server and that no row shows, at most one for each record.
    var hidden: [RecordID: OwnChange] = [:]
    /// The versions that this process has made on the server alone, each with the one before.
    var elsewhere: [RecordID: (from: Int64, to: Int64)] = [:]
    /// The hashes of the newest saved secrets.
    var secrets: [SavedSecret: Int] = [:]

    mutating func add(_ change: OwnChange, of id: RecordID) {
      changes[id, default: []].append(change)
      cost += change.cost
      if changes[id]?.count ?? 0 > OwnChanges.limitOfRecord { forgetFirst(of: id) }
    }

    /// Forgets the oldest changes until a quarter of the room is free, so that they are sorted seldom. Keeps the newest
    /// change.
    mutating func forgetOldest() {
      let oldest = changes.flatMap { id, changes in changes.map { (id: id, made: $0.made) } }
        .sorted { $0.made < $1.made }
      for change in oldest.dropLast() where cost > OwnChanges.limit / 4 * 3 { forgetFirst(of: change.id) }
    }

    private mutating func forgetFirst(of id: RecordID) {
      guard let first = changes[id]?.first else { return }
      cost -= first.cost
      changes[id]?.removeFirst()
      if changes[id]?.isEmpty == true { changes[id] = nil }
    }
  }

  private let state = Mutex(State())
  /// The other stores on the file, whose changes aren't in memory.
  let others = OtherStores()

  package init() {}

  /// Notes changes that are durable, with the number of their commit. Changes that have one keep it.
  package func note(_ changes: OwnChangesMade, committed number: Int64 = .max) {
    guard !changes.isEmpty else { return }
    state.withLock { state in
      for id in changes.ended { state.hidden[id] = nil }
      state.hidden.merge(changes.hidden) { $1 }
      for (id, changes) in changes.changes {
        for var change in changes {
          change.committed = min(change.committed, number)
          state.add(change, of: id)
        }
      }
      if state.cost > Self.limit { state.forgetOldest() }
    }
  }

  /// Notes the hashes of secrets that were saved.
  func note(_ secrets: [SavedSecret: Int]) {
    guard !secrets.isEmpty else { return }
    state.withLock { state in
      if state.secrets.count >= 1000 { state.secrets.removeAll() }
      state.secrets.merge(secrets) { $1 }
    }
  }

  func secretHash(_ secret: SavedSecret) -> Int? { state.withLock { $0.secrets[secret] } }

  /// Returns the save of a record that is under way and that no row shows, or nil.
  func hidden(of id: RecordID) -> OwnChange? { state.withLock { $0.hidden[id] } }

  /// Ends the save of a record that no row shows, if no transaction did.
  ///
  /// - Parameter isMade: false if it was undone. It is then forgotten.
  package func endHidden(_ id: RecordID, isMade: Bool = true) {
    state.withLock { state in
      guard let change = state.hidden.removeValue(forKey: id), isMade else { return }
      state.add(change, of: id)
    }
  }

  /// Returns the changes of a record since the values with the mark were read, or since their last save. A save that no
  /// row shows is one of them.
  ///
  /// - Parameter present: the changes of the transaction that asks.
  func since(
    _ mark: ReadMark, _ id: RecordID, with present: OwnChangesMade, by values: [FieldValue],
    _ schema: TypeSchema
  ) -> OwnChangesSince {
    let (known, noted) = state.withLock { ($0.changes[id], $0.hidden[id]) }
    let hidden = present.ended.contains(id) ? nil : noted
    // A save that was under way is noted after later ones.
    let all = ((known ?? []) + (present.changes[id] ?? []) + [hidden].compactMap(\.self))
      .sorted { $0.made < $1.made }
    if all.isEmpty { return OwnChangesSince(others: []) }
    let mine = mark.reading == 0 ? [] : all.filter { $0.reading == mark.reading && !$0.given.isEmpty }
    let read = Dictionary(mine.flatMap(\.before).map { ($0.position, $0.value) }) { first, _ in first }
    if let saved = mine.last(where: { $0.isContinued(by: values, read: read, schema) }) {
      return OwnChangesSince(
        saved: saved, others: all.filter { $0.made > saved.made }, isHidden: saved.made == hidden?.made)
    }
    // The time at which a value from elsewhere was read isn't known.
    return OwnChangesSince(
      others: all.filter { change in
        change.reading == mark.reading && mark.reading != 0 || mark.reading > 0 && change.isAfter(mark)
      })
  }

  /// Notes a version that this process made on the server alone. The row receives it by a pull.
  package func note(_ id: RecordID, madeElsewhere version: String, from base: String?) {
    state.withLock { state in
      if state.elsewhere.count >= 1000 { state.elsewhere.removeAll() }
      state.elsewhere[id] = (ReadMark.number(of: base), ReadMark.number(of: version))
    }
  }

  /// True if this process alone made the step from one version of a record to another.
  func isOwn(_ id: RecordID, from base: String?, to version: String?) -> Bool {
    state.withLock { state in
      guard let step = state.elsewhere[id], step.to == ReadMark.number(of: version) else { return false }
      return step.from == ReadMark.number(of: base)
    }
  }
}

extension FieldValue {
  /// The bytes of a value that lie outside its own memory.
  fileprivate var length: Int {
    switch self {
    case .text(let text), .json(let text): text.utf8.count
    case .data(let data): data.count
    case .list(let ids): ids.reduce(0) { $0 + $1.utf8.count + 16 }
    case .null, .bool, .int, .double, .date, .coordinate: 0
    }
  }
}

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
    made.changes[RecordID(type: table.schema.name, id: id), default: []].append(change)
  }

  /// Returns the last change of a record by this transaction.
  package func lastOwnChange(of id: RecordID) -> OwnChange? { made.changes[id]?.last }

  /// Remembers a save that no row shows, until `endHidden`.
  package func hide(_ change: OwnChange, of id: RecordID) { made.hidden[id] = change }

  /// True if this process has a save of the record that no row shows.
  package func hidesSave(of id: RecordID) -> Bool { ownChanges?.hidden(of: id) != nil }

  /// Keeps the save of a record that no row shows, if there is one, although this transaction ends it.
  package func keepHidden(_ id: RecordID) { made.hidden[id] = ownChanges?.hidden(of: id) }

  /// Ends the save of a record that no row shows, if there is one.
  ///
  /// - Parameter isMade: false if it was undone. It is then forgotten.
  package func endHidden(_ id: RecordID, isMade: Bool = true) {
    guard let change = ownChanges?.hidden(of: id), made.ended.insert(id).inserted, isMade else { return }
    made.changes[id, default: []].append(change)
  }
}
