import BothyStore

/// The reading of one page of a feed from a consistent state of the space.
///
/// Remembered changes and records are merged by position. A record whose last change isn't remembered, because it was
/// imported or is too old, has one change at its position.
struct FeedReading {
  let storage: any ServerSnapshot
  /// The most changes of the page.
  let limit: Int
  /// The approximate number of bytes of its records and of the names of changed fields.
  let bytes: Int
  /// The number of records that are read at a time beyond those of the page itself.
  private static let piece = 16

  struct Found {
    var changes: [FeedChange] = []
    /// The position up to which nothing is left out.
    var end: Int64
  }

  /// Reads the changes after a position. Costs two reads, and one more for each 16 records that were changed again
  /// later.
  func changes(after position: Int64) throws -> Found {
    let remembered = try storage.history(after: position, limit: limit)
    let records = try storage.changes(after: position, in: .everything, limit: limit, bytes: bytes)
    var end = storage.head
    if remembered.count >= limit, let last = remembered.last { end = min(end, last.position) }
    let size = records.reduce(0) { $0.addingClamped($1.record.weight) }
    if records.count >= limit || size >= bytes, let last = records.last { end = min(end, last.position) }
    let entries = Dictionary(remembered.map { ($0.position, $0) }, uniquingKeysWith: { $1 })
    let own = Dictionary(records.map { ($0.position, $0) }, uniquingKeysWith: { $1 })
    let positions = Set(entries.keys).union(own.keys).filter { $0 <= end }.sorted()
    var current = Dictionary(records.map { ($0.record.id, $0.record) }, uniquingKeysWith: { $1 })
    var asked = Set(current.keys)
    var found = Found(end: end)
    var left = bytes
    for (index, position) in positions.enumerated() {
      if found.changes.count == limit || left <= 0 {
        found.end = positions[index - 1]
        break
      }
      if let entry = entries[position] {
        if !asked.contains(entry.record) {
          let ids = next(positions[index...].compactMap { entries[$0]?.record }, besides: asked)
          for (id, record) in try storage.records(ids) { current[id] = record.record }
          asked.formUnion(ids)
        }
        found.changes.append(FeedChange(entry, record: current[entry.record]?.sent))
      } else if let record = own[position] {
        found.changes.append(FeedChange(record))
      }
      if let change = found.changes.last { left -= Self.overhead + Self.weight(of: change) }
    }
    return found
  }

  /// The approximate bytes of a change without its fields.
  private static let overhead = 256

  /// Returns the approximate bytes of a change's record and of its fields' names. A change may name more than it leaves.
  private static func weight(of change: FeedChange) -> Int {
    change.fields.reduce(change.record?.weight ?? 0) { $0.addingClamped($1.utf8.count + 3) }
  }

  private func next(_ ids: [RecordID], besides asked: Set<RecordID>) -> [RecordID] {
    var seen = asked
    var some: [RecordID] = []
    for id in ids where seen.insert(id).inserted {
      some.append(id)
      if some.count == Self.piece { break }
    }
    return some
  }
}
