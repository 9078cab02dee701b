import BothyStore

extension ServerSnapshot {
  /// Visits records by their ids, each once and in order, with `nil` for a missing one. Reads sixteen at a time, so few
  /// whole records are in memory.
  func forEachRecord(
    of ids: some Sequence<RecordID>, _ body: (RecordID, StoredRecord?) throws -> Void
  ) throws {
    var seen: Set<RecordID> = []
    let all = ids.filter { seen.insert($0).inserted }
    for first in stride(from: 0, to: all.count, by: 16) {
      let some = Array(all[first..<min(first + 16, all.count)])
      let found = try records(some)
      for id in some { try body(id, found[id]) }
    }
  }
}

extension SyncService {
  /// Returns those of the records that the user may see, as `AccessRules.shows(_:_:to:)` decides.
  func visibleIDs(
    among ids: [RecordID], to viewer: Viewer, in storage: any ServerSnapshot
  ) throws -> Set<RecordID> {
    var visible: Set<RecordID> = []
    try storage.forEachRecord(of: ids) { id, entry in
      if rules.shows(entry?.record, id, to: viewer) { visible.insert(id) }
    }
    return visible
  }
}
