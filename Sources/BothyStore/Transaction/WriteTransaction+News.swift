/// Saving values that were read before their records changed.
extension WriteTransaction {
  /// Preserves the changes since the values were read, in fields that the caller didn't edit. A field with one of the
  /// replaced values counts as not edited. Returns the values as read of the fields that others and the caller changed,
  /// and the fields that others changed and the caller hasn't seen. The flag is true if the value's last save is under
  /// way, and no row shows it.
  ///
  /// A field that this device alone changed since is merged as one person's two edits of it. The values are compared
  /// with their last save, if they were saved before.
  ///
  /// - Parameters:
  ///   - absent: the fields that the caller has no value for. They have the present values.
  ///   - isTyped: true if the caller saw stand-ins for content that the fields' Swift types don't take.
  func leaveNews(
    in values: inout [FieldValue], without absent: Set<Int> = [], readAs mark: ReadMark,
    over before: StoredRow,
    _ table: TypeTable, id: String, isTyped: Bool
  ) throws -> (stale: Change.Stale?, unseen: Set<Int>, isHidden: Bool) {
    if isTyped { table.keepUnread(in: &values, of: before.values) }
    guard tells(of: table, since: mark), let recorder else { return (nil, [], false) }
    let record = RecordID(type: table.schema.name, id: id)
    var own =
      ownChanges?.since(
        mark, record, with: made, by: values, table.schema)
      ?? OwnChangesSince(others: [])
    // A value as the row has it may still set back what its own save has sent, or count again.
    guard
      values != before.values || own.saved != nil
        || table.schema.fields.contains(where: { $0.merge == .counter })
    else { return (nil, [], false) }
    let former = wanted(since: mark, savedAt: own.saved?.time)
    let mark = converted(own.saved.map { ReadMark(number: -$0.time, reading: mark.reading) } ?? mark)
    if let others = ownChanges?.others { own.convertTimes(by: others) }
    guard
      own.saved != nil || !own.others.isEmpty || mark.number < 0 || former != nil
        || mark.number != ReadMark.number(of: before.version)
    else { return (nil, [], false) }
    var others = try changes(since: mark, and: former, table, id: id)
    if isTyped {
      for position in table.checkedPositions {
        let seen = { (value: FieldValue) in table.seen(value, at: position) }
        for index in others.indices {
          others[index].fields[position] = others[index].fields[position].map(seen)
        }
        for index in own.others.indices { own.others[index].replaced(at: position, as: seen) }
      }
    }
    let news = RecordNews(
      own: own, others: try exists(table, id: id) ? others : others.filter { !$0.isGone },
      isPast: try ReplacedFields.isPast(mark, version: before.version, in: self),
      isExact: mark.number >= 0)
    var (stale, unseen): ([Int: FieldValue], Set<Int>) = ([:], [])
    for (position, field) in table.schema.fields.enumerated() where !absent.contains(position) {
      let (value, now) = (values[position], before.values[position])
      switch news.part(of: value, at: position, now: now, isCounter: field.merge == .counter) {
      case .given: break
      case .unedited:
        values[position] = now
        if value != now && news.isTheirs(at: position, now) { unseen.insert(position) }
      case .later(let read): values[position] = try recorder.later(value, than: now, readAs: read, field)
      case .conflict(let read): stale[position] = read
      }
    }
    return (
      stale.isEmpty ? nil : Change.Stale(version: news.version(of: mark), values: stale), unseen, own.isHidden
    )
  }

  /// Returns the changes of other processes to look for, since a value was read or saved last. Nil if no other has
  /// committed since, and for a value of an earlier launch, of which the time isn't known.
  private func wanted(since mark: ReadMark, savedAt time: Int64?) -> FormerValues.Wanted? {
    guard let others = ownChanges?.others, others.mayHaveChanged(since: mark), let time = time ?? mark.time
    else { return nil }
    return FormerValues.Wanted(
      besides: others.own, after: others.fileTime(of: time), reading: mark.reading)
  }

  /// The present time of the file.
  var fileTime: Int64 {
    let now = DeviceTime.now()
    return ownChanges?.others.fileTime(of: now) ?? now
  }

  private func converted(_ mark: ReadMark) -> ReadMark { ownChanges?.others.converted(mark) ?? mark }

  /// Returns what others and other processes have changed since, the oldest first.
  private func changes(
    since mark: ReadMark, and former: FormerValues.Wanted?, _ table: TypeTable, id: String
  ) throws -> [ReplacedFields.Entry] {
    let told = try ReplacedFields.entries(since: mark, table, id: id, in: self)
    guard let former else { return told }
    let ended = try ReplacedFields.former(since: former.after, table, id: id, in: self)
    let pending = try recorder?.former(of: RecordID(type: table.schema.name, id: id), in: self) ?? []
    let found = FormerValues.entries(of: ended + pending, former, table)
    return found.isEmpty ? told : (told + found).sorted { $0.noted < $1.noted }
  }

  /// Returns the deletion by others of a record that existed when a value was read.
  func deletion(since mark: ReadMark, _ table: TypeTable, id: String) throws -> ReplacedFields.Entry? {
    guard tells(of: table, since: mark) else { return nil }
    return try ReplacedFields.entries(since: converted(mark), table, id: id, in: self).last { $0.isGone }
  }

  /// Edits a record in the state before others deleted it.
  func edit(
    _ table: TypeTable, id: String, values: [FieldValue], in container: String?, readAs mark: ReadMark,
    deletedBy news: ReplacedFields.Entry, isTyped: Bool = false
  ) throws {
    let read = StoredRow(
      values: table.schema.fields.indices.map { news.fields[$0] ?? .null }, container: news.container,
      version: news.was)
    let (saved, secrets) = conceal(values, table, id, readAs: mark)
    var values = saved
    let (stale, unseen, _) = try leaveNews(
      in: &values, readAs: mark, over: read, table, id: id, isTyped: isTyped)
    guard let version = news.was, values != read.values else { return }
    try checkUnique(table, id: id, values)
    try insertRow(table, id: id, container: container ?? news.container) { encoder in
      for (field, value) in zip(table.schema.fields, values) { encoder.encode(value, kind: field.kind) }
    }
    try link(table, id: id, values)
    try setVersion(version, table, id: id)
    keep(secrets)
    note(saved, readAs: mark, over: read.values, now: values, unseen: unseen, table, id: id)
    changed(
      .update, table, id, before: read,
      stale: Change.Stale(version: version, values: stale?.values ?? [:], deletion: String(news.version)))
    try flushIfFull()
  }

  private func tells(of table: TypeTable, since mark: ReadMark) -> Bool {
    table.schema.isSynced && recorder != nil && mark.number != ReadMark.whole.number
  }
}

/// The secret that one value was saved with. The reading names the value.
struct SavedSecret: Hashable, Sendable {
  var key: SecretKey
  var reading: Int64
}

/// Keeping the values of sensitive fields out of the rows.
extension WriteTransaction {
  /// Takes the values of sensitive fields out of the row, and returns those to keep.
  ///
  /// - Parameter isKept: true if the record exists, so that secrets that the same value was saved with before are stored
  ///   or sent already. Memory has hashes of them until the next launch.
  func conceal(
    _ values: [FieldValue], _ table: TypeTable, _ id: String, readAs mark: ReadMark, isKept: Bool = false
  ) -> (values: [FieldValue], secrets: [SavedSecret: String]) {
    var (values, secrets) = (values, [SavedSecret: String]())
    let record = RecordID(type: table.schema.name, id: id)
    for position in table.sensitivePositions {
      guard case .text(let secret) = values[position] else { continue }
      values[position] = .null
      let key = SecretKey(record, field: table.schema.fields[position].name)
      let saved = SavedSecret(key: key, reading: mark.reading)
      let known = secretHashes[saved] ?? ownChanges?.secretHash(saved)
      if isKept && mark.reading != 0 && known == Self.hash(secret) { continue }
      secrets[saved] = secret
    }
    return (values, secrets)
  }

  /// Keeps the secrets of a save that the row has taken, for the secret store.
  func keep(_ concealed: [SavedSecret: String]) {
    for (saved, secret) in concealed {
      secrets[saved.key] = secret
      if saved.reading != 0 { secretHashes[saved] = Self.hash(secret) }
    }
  }

  /// Returns a hash with a key that Swift makes for each process.
  private static func hash(_ secret: String) -> Int {
    var hasher = Hasher()
    for byte in secret.utf8 { hasher.combine(byte) }
    return hasher.finalize()
  }
}
