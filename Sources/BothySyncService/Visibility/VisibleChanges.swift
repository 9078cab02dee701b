import BothyStore

/// The changes of a scope that one user may see, in position order.
struct VisibleChanges {
  var entries: [StoredRecord] = []
  /// The user's own changes that hid a record from it, by a condition of the schema.
  var lost: [StoredRecord] = []
  /// The position up to which the changes were read; `nil` if all were.
  var end: Int64?
}

extension SyncService {
  /// The most hidden changes that one page reads. A type whose readers no index has may have more of them.
  private static let hiddenLimit = 20_000

  /// Returns the changes that the user may see: at most one more than `limit`, and those up to the one that reaches
  /// `bytes`. Hidden changes neither count nor end a page.
  ///
  /// - Parameter told: the positions of the user's own changes of this request.
  func visibleChanges(
    after start: Int64, in scope: SyncScope, _ viewer: Viewer, _ storage: any ServerSnapshot, limit: Int,
    bytes: Int, leavingOut told: Set<Int64>
  ) throws -> VisibleChanges {
    let filter = rules.visibility(of: viewer)
    var visible = VisibleChanges()
    var (position, left, hidden) = (start, bytes, 0)
    while true {
      let (wanted, room) = (max(limit + 1 - visible.entries.count, 64), left)
      let found = try storage.changes(
        after: position, in: scope, limit: wanted, bytes: room, seenBy: filter)
      var size = 0
      for entry in found {
        position = entry.position
        size += entry.record.fields.bytes.count
        guard rules.shows(entry.record, to: viewer) else {
          hidden += 1
          if told.contains(position), rules.conditions[.read, entry.record.id.type] != nil {
            visible.lost.append(entry)
          }
          continue
        }
        visible.entries.append(entry)
        left -= entry.record.fields.bytes.count
        if left <= 0 || visible.entries.count > limit {
          visible.end = position
          return visible
        }
      }
      if found.count < wanted && size < room { return visible }
      if hidden >= Self.hiddenLimit {
        visible.end = position
        return visible
      }
    }
  }

  /// Visits the live records of a scope that the user may see. If the schema hides records from the user, it reads no
  /// more than the user may see, as far as indexes know.
  func forEachVisibleRecord(
    in scope: SyncScope, _ viewer: Viewer, _ storage: any ServerSnapshot,
    _ body: (StoredRecord) throws -> Void
  ) throws {
    let filter = rules.visibility(of: viewer)
    // No index knows the readers that a condition chooses, so such types are read whole either way.
    guard filter.hidesTypes else {
      return try storage.forEachRecord(in: scope) { entry in
        if rules.shows(entry.record, to: viewer) { try body(entry) }
      }
    }
    let (limit, bytes) = (500, rules.answerSize)
    var position: Int64 = 0
    while true {
      let found = try storage.changes(after: position, in: scope, limit: limit, bytes: bytes, seenBy: filter)
      for entry in found where !entry.record.isDeleted && rules.shows(entry.record, to: viewer) {
        try body(entry)
      }
      let size = found.reduce(0) { $0 + $1.record.fields.bytes.count }
      guard found.count == limit || size >= bytes, let last = found.last else { return }
      position = last.position
    }
  }

  /// Returns at most `limit` departures of records that the user may see, in position order.
  func visibleDepartures(
    after start: Int64, from scope: SyncScope, _ viewer: Viewer, _ storage: any ServerSnapshot, limit: Int
  ) throws -> [RecordRemoval] {
    var visible: [RecordRemoval] = []
    var position = start
    while true {
      let found = try storage.departures(after: position, upTo: storage.head, from: scope, limit: limit)
      let records = try storage.records(found.map(\.id))
      for departure in found {
        position = departure.position
        if rules.shows(records[departure.id]?.record, departure.id, to: viewer) { visible.append(departure) }
        if visible.count == limit { return visible }
      }
      if found.count < limit { return visible }
    }
  }
}
