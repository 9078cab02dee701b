/// The changes of a record since a value was read or saved, and the part of each of its fields in the next save. Pure.
struct RecordNews {
  /// The changes of this device, from memory.
  var own: OwnChangesSince
  /// The changes that the file has: those of others, of this device on the server, and of its other processes.
  var others: [ReplacedFields.Entry]
  /// True if older changes may have been deleted from the file.
  var isPast: Bool
  /// True if the state that was read is known by its version, and not by the time alone.
  var isExact: Bool

  /// The part of a field in a save.
  enum Part: Equatable {
    /// The value as given.
    case given
    /// The present value, because the caller didn't edit the field.
    case unedited
    /// The later of two edits of this device, made on the value read.
    case later(read: FieldValue)
    /// An edit beside that of others, for the merge policy. Its value is the one read.
    case conflict(read: FieldValue)
  }

  /// Returns the part of a field with `value` that is `now` on this device.
  func part(of value: FieldValue, at position: Int, now: FieldValue, isCounter: Bool) -> Part {
    if let saved = own.saved?.given[position], saved == value { return .unedited }
    let read = read(at: position)
    // A counter that was raised to the present number was raised all the same. A field that is set back to what the row
    // has was set back all the same, if the row never showed its save.
    let isUnshown = others.isEmpty && own.saved?.became(at: position) ?? now != now
    guard value != now || (isCounter || isUnshown) && read ?? now != now else { return .given }
    // A record that returns to this device with its old value brought no change. Memory knows this device's own exactly.
    let isOwnKnown = !own.replaced(at: position).isEmpty
    let known = others.filter {
      ($0.hashes[position] == nil || !$0.had(now, at: position)) && !(isOwnKnown && $0.isOwn)
    }
    if own.saved == nil {
      // The state that was read is known by its version. By a time it is known roughly.
      let isKnown = read != nil && (isExact || isOwnKnown || isCounter)
      let isOld = isKnown ? value == read : known.contains { $0.had(value, at: position) }
      if isOld || value == read { return .unedited }
    }
    if let read { return isTheirs(at: position, now) || isPast ? .conflict(read: read) : .later(read: read) }
    return isPast || known.contains { $0.hashes[position] != nil } ? .conflict(read: .null) : .given
  }

  /// True if others gave a field its present value since the value was read.
  func isTheirs(at position: Int, _ now: FieldValue) -> Bool {
    let told = others.last {
      $0.news[position] != nil || $0.kind == .former && $0.fields[position] != nil
    }
    if let told { return !told.isOwn && told.news[position] == ReplacedFields.hash(of: now) }
    if others.contains(where: { !$0.isOwn && $0.fields[position] != nil }) { return true }
    // Either it has changed since the save, which no other save of this device explains, or it was unseen then.
    guard let saved = own.saved, own.replaced(at: position).isEmpty else { return false }
    return saved.became(at: position) != now || saved.unseen.contains(position)
  }

  /// Returns the value that a field had when it was read, or nil if it has not changed since.
  private func read(at position: Int) -> FieldValue? {
    if let saved = own.saved { return saved.given[position] }
    let mine = own.replaced(at: position).first
    guard let theirs = others.first(where: { $0.fields[position] != nil }), let old = theirs.fields[position]
    else { return mine?.value }
    return mine.map { $0.time < theirs.noted ? $0.value : old } ?? old
  }

  /// Returns the version of the record that the value was read with.
  func version(of mark: ReadMark) -> String {
    others.first { $0.kind != .former }?.was ?? String(max(0, mark.number))
  }
}
