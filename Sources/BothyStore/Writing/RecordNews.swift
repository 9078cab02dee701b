/// The changes of a record since a value was read or saved, and the part of each of its fields in the next save. Pure.
struct RecordNews {
  /// The changes of this device, from memory.
  var own: OwnChangesSince
  /// The changes that the file has: those of others, and of this device on the server.
  var others: [ReplacedFields.Entry]
  /// True if older changes may have been deleted from the file.
  var isPast: Bool

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
    // A counter that was raised to the present number was raised all the same.
    guard value != now || isCounter && read ?? now != now else { return .given }
    // A record that returns to this device with its old value brought no change. Memory knows this device's own exactly.
    let isOwnKnown = !own.replaced(at: position).isEmpty
    let known = others.filter {
      ($0.hashes[position] == nil || !$0.had(now, at: position)) && !(isOwnKnown && $0.kind == .own)
    }
    if own.saved == nil {
      // A number that was counted up to one in between is an edit.
      let isCounted = isCounter && read != nil
      if read == value || !isCounted && known.contains(where: { $0.had(value, at: position) }) {
        return .unedited
      }
    }
    let told = others.last { $0.news[position] != nil }
    let isTheirs =
      told.map { $0.kind != .own && $0.news[position] == ReplacedFields.hash(of: now) }
      ?? (others.contains { $0.kind != .own && $0.fields[position] != nil } || isMerged(at: position, now))
    if let read { return isTheirs || isPast ? .conflict(read: read) : .later(read: read) }
    return isPast || known.contains { $0.hashes[position] != nil } ? .conflict(read: .null) : .given
  }

  /// True if a field no longer has the value that the last save gave it, and no other save of this device explains that.
  private func isMerged(at position: Int, _ now: FieldValue) -> Bool {
    own.saved.map { $0.became(at: position) != now && own.replaced(at: position).isEmpty } ?? false
  }

  /// Returns the value that a field had when it was read, or nil if it has not changed since.
  private func read(at position: Int) -> FieldValue? {
    if let saved = own.saved { return saved.given[position] }
    let mine = own.replaced(at: position).first
    guard let theirs = others.first(where: { $0.fields[position] != nil }), let old = theirs.fields[position]
    else { return mine }
    // The earlier of the two changes was made on the value read, and the later one on its result.
    return mine.map { ReplacedFields.hash(of: $0) == theirs.news[position] ? old : $0 } ?? old
  }

  /// Returns the version of the record that the value was read with.
  func version(of mark: ReadMark) -> String { others.first?.was ?? String(max(0, mark.number)) }
}
