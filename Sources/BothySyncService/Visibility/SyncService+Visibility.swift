import BothyStore

/// The records that left a scope or became visible without a change of their own.
extension SyncService {
  /// Returns the first `limit` notices for the user and its groups, in position order. Several may be about one record.
  func notices(
    for user: Caller, after position: Int64, _ storage: any ServerSnapshot, limit: Int
  ) throws -> [VisibilityNotice] {
    guard rules.usesSharing else { return [] }
    return try storage.notices(for: user.names, after: position, limit: limit)
  }

  /// Adds the records of notices to a page. A record that changed since comes by its own position instead. One whose
  /// tombstone is forgotten isn't named. For a notice about all shared records the page names their types.
  func tell(
    _ notices: ArraySlice<VisibilityNotice>, after start: Int64, _ viewer: Viewer,
    _ storage: any ServerSnapshot,
    in page: inout SyncResponse.Page
  ) throws {
    guard !notices.isEmpty else { return }
    if notices.contains(where: { $0.record == VisibilityNotice.everyShared }) {
      page.types = Set(page.types + rules.typesHidingUnshared).sorted()
    }
    let single = notices.map(\.record).filter { $0 != VisibilityNotice.everyShared }
    try storage.forEachRecord(of: single) { id, entry in
      guard let entry else { return }
      guard rules.shows(entry.record, to: viewer) else {
        page.outOfScope.append(id)
        return
      }
      if entry.position <= start && !entry.record.isDeleted && page.scope.contains(entry.record.container) {
        page.changes.append(entry.record)
      }
    }
  }

  /// Returns the position at which a page ends so that the records that it reads for notices fit in `bytes`, or `nil` if
  /// all fit. Those that the page doesn't bring count too.
  func end(
    of notices: [VisibilityNotice], _ storage: any ServerSnapshot, bytes: AnswerBytes
  ) throws -> Int64? {
    var bytes = bytes
    for first in stride(from: 0, to: notices.count, by: 16) {
      let some = notices[first..<min(first + 16, notices.count)]
      let records = try storage.records(some.map(\.record))
      for notice in some {
        guard let entry = records[notice.record] else { continue }
        bytes.spend(entry.record.weight)
        if bytes.left == 0 { return notice.position }
      }
    }
    return nil
  }

  /// Returns the departures of visible records from a scope, and the notes of changed readers of records that the user
  /// could see before, in position order. `end` is the position up to which they were read; `nil` if all were.
  ///
  /// - Parameter last: the position up to which the page's changes were read; `nil` if all were.
  func removals(
    after start: Int64, upTo last: Int64?, from scope: SyncScope, _ viewer: Viewer,
    _ storage: any ServerSnapshot, limit: Int, _ budget: inout PageBudget
  ) throws -> (found: [RecordRemoval], end: Int64?) {
    var end = last
    let (moved, movedEnd) = try visibleDepartures(
      after: start, upTo: end ?? storage.head, from: scope, viewer, storage, limit: limit, &budget)
    end = movedEnd ?? end
    guard rules.conditions.decideVisibility else { return (moved, end) }
    let (seen, seenEnd) = try formerlySeen(
      after: start, upTo: end ?? storage.head, viewer, storage, limit: limit, &budget)
    return ((moved + seen).sorted { $0.position < $1.position }, seenEnd ?? end)
  }

  /// Returns at most `limit` notes of changed readers about records that the user could see before. `last` and `end` are
  /// as those of `visibleDepartures`.
  private func formerlySeen(
    after start: Int64, upTo last: Int64, _ viewer: Viewer, _ storage: any ServerSnapshot, limit: Int,
    _ budget: inout PageBudget
  ) throws -> (found: [RecordRemoval], end: Int64?) {
    var seen: [RecordRemoval] = []
    var position = start
    let wanted = max(limit, 64)
    while true {
      let found = try storage.formerlyVisible(after: position, upTo: last, limit: wanted)
      for note in found {
        position = note.position
        if let former = note.former, rules.showed(former, of: note.id.type, to: viewer) {
          seen.append(note)
        } else {
          budget.spendHidden(bytes: note.former?.utf8.count ?? 0)
        }
        if seen.count == limit { return (seen, nil) }
      }
      if found.count < wanted { return (seen, nil) }
      if budget.hidden == 0 { return (seen, position) }
    }
  }

  /// Returns the departed records that are not in the scope now, and those that are hidden from the user now.
  ///
  /// - Parameter departures: as `removals` returns them.
  func gone(
    _ departures: [RecordRemoval], from scope: SyncScope, _ viewer: Viewer, _ storage: any ServerSnapshot
  ) throws -> [RecordID] {
    var (placed, shown): (Set<RecordID>, Set<RecordID>) = ([], [])
    try storage.forEachRecord(of: departures.map(\.id)) { id, entry in
      guard let record = entry?.record else { return }
      if scope.contains(record.container) { placed.insert(id) }
      if rules.shows(record, to: viewer) { shown.insert(id) }
    }
    var ids: [RecordID] = []
    var seen: Set<RecordID> = []
    for departure in departures {
      let isThere = (departure.former == nil ? placed : shown).contains(departure.id)
      if !isThere, seen.insert(departure.id).inserted { ids.append(departure.id) }
    }
    return ids
  }
}
