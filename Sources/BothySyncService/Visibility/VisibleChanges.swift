import BothyStore

/// The changes of a scope that one user may see, in position order.
struct VisibleChanges {
  var entries: [StoredRecord] = []
  /// The own changes of a user without a name that hid a record from it, by a condition of the schema. Other users get
  /// notes, see `VisibilityChange`.
  var lost: [StoredRecord] = []
  /// The position up to which the changes were read; `nil` if all were.
  var end: Int64?
}

extension SyncService {
  /// Returns the changes that the user may see. They are at most one more than `limit`, and end with the one that
  /// reaches the bytes of the budget. Hidden changes don't count as changes. They end a page only if they use up the
  /// budget.
  ///
  /// - Parameter reported: the positions of the user's own changes of this request.
  func visibleChanges(
    after start: Int64, in scope: SyncScope, _ viewer: Viewer, _ storage: any ServerSnapshot, limit: Int,
    _ budget: inout PageBudget, leavingOut reported: Set<Int64>
  ) throws -> VisibleChanges {
    let filter = try rules.filter(
      for: viewer, after: start, in: storage, limit: limit, bindsConditions: reported.isEmpty)
    var visible = VisibleChanges()
    var (position, bytes) = (start, budget.bytes)
    while true {
      let (wanted, room) = (max(limit + 1 - visible.entries.count, 64), bytes.left)
      let found = try storage.changes(
        after: position, in: scope, limit: wanted, bytes: room, seenBy: filter)
      var size = 0
      for entry in found {
        position = entry.position
        size += entry.record.weight
        guard rules.shows(entry.record, to: viewer) else {
          budget.spendHidden(bytes: entry.record.weight)
          if viewer.user.name == nil, reported.contains(position),
            rules.conditions[.read, entry.record.id.type] != nil
          {
            visible.lost.append(entry)
          }
          continue
        }
        visible.entries.append(entry)
        bytes.spend(entry.record.weight)
        if bytes.left == 0 || visible.entries.count > limit {
          visible.end = position
          return visible
        }
      }
      if found.count < wanted && size < room { return visible }
      if budget.hidden == 0 {
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
    let (limit, bytes) = (500, rules.answerSize)
    let filter = try rules.filter(for: viewer, after: 0, in: storage, limit: limit)
    guard filter.hidesTypes else {
      return try storage.forEachRecord(in: scope) { entry in
        if rules.shows(entry.record, to: viewer) { try body(entry) }
      }
    }
    var position: Int64 = 0
    while true {
      let found = try storage.changes(after: position, in: scope, limit: limit, bytes: bytes, seenBy: filter)
      for entry in found where !entry.record.isDeleted && rules.shows(entry.record, to: viewer) {
        try body(entry)
      }
      let size = found.reduce(0) { $0 + $1.record.weight }
      guard found.count == limit || size >= bytes, let last = found.last else { return }
      position = last.position
    }
  }

  /// Returns at most `limit` departures of records that the user may see, up to `last`, in position order. `end` is the
  /// position of the last one that was read if hidden ones used up the budget; otherwise `nil`.
  func visibleDepartures(
    after start: Int64, upTo last: Int64, from scope: SyncScope, _ viewer: Viewer,
    _ storage: any ServerSnapshot, limit: Int, _ budget: inout PageBudget
  ) throws -> (found: [RecordRemoval], end: Int64?) {
    var visible: [RecordRemoval] = []
    var position = start
    // Their records are read before the budget is looked at.
    let wanted = min(max(limit, 64), 512)
    while true {
      let found = try storage.departures(after: position, upTo: last, from: scope, limit: wanted)
      var shown: Set<RecordID> = []
      var hiddenBytes = 0
      try storage.forEachRecord(of: found.map(\.id)) { id, entry in
        if rules.shows(entry?.record, id, to: viewer) {
          shown.insert(id)
        } else {
          hiddenBytes = hiddenBytes.addingClamped(entry?.record.weight ?? 0)
        }
      }
      if hiddenBytes > 0 { budget.spendHidden(bytes: hiddenBytes) }
      for departure in found {
        position = departure.position
        if shown.contains(departure.id) {
          visible.append(departure)
        } else {
          budget.spendHidden()
        }
        if visible.count == limit { return (visible, nil) }
      }
      if found.count < wanted { return (visible, nil) }
      if budget.hidden == 0 { return (visible, position) }
    }
  }
}
