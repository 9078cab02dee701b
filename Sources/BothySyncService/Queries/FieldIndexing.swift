import BothyStore

/// The upkeep of indexes: entries with each change, and the entries of existing records.
///
/// A finished index has all entries up to the position of its state. A change by this server moves the position in the
/// statement that moves the head, so it costs nothing of its own. A change by an older server leaves it behind. Queries
/// then read the changes since, or the whole type if there are many, and `advance` adds the missing entries.
struct FieldIndexing {
  /// The indexes that the server's schema declares.
  let wanted: FieldIndexSet

  /// The most records that one step of a new index reads, and about the most of their bytes.
  static let step = (records: 1000, bytes: 4 << 20)

  /// Notes the entries of changes. Call it before the records are stored. A new space gets its indexes here.
  ///
  /// Returns false if the storage's indexes are of a newer server, so that their position must not move. Costs a
  /// statement for the new entries and one for the old ones, and nothing for types without an index.
  func follow(
    _ changes: [(before: ServerRecord?, after: ServerRecord)], in storage: any ServerTransaction
  ) throws -> Bool {
    let state = storage.fieldIndexes
    guard var catalog = state.catalog else { return false }
    if storage.head == 0, catalog.isEmpty, !wanted.isEmpty, !changes.isEmpty {
      catalog.adopt(wanted)
      catalog.finish()
      try storage.setFieldIndexes(FieldIndexState(text: catalog.text, position: state.position))
    }
    let kept = Dictionary(grouping: catalog.kept, by: { $0.key.type })
    guard !kept.isEmpty else { return true }
    var (new, gone): ([FieldEntry], [FieldEntry]) = ([], [])
    for (before, after) in changes {
      guard let indexes = kept[after.id.type] else { continue }
      let (old, now) = (try Self.members(before), try Self.members(after))
      for (index, number) in indexes {
        let oldKeys = wanted.keys(of: before, old, in: index)
        let keys = wanted.keys(of: after, now, in: index)
        func entry(_ key: [UInt8]) -> FieldEntry { FieldEntry(index: number, key: key, id: after.id.id) }
        // Another server's part may lack the record as it was.
        new += (wanted.knows(index) ? keys.subtracting(oldKeys) : keys).map(entry)
        gone += oldKeys.subtracting(keys).map(entry)
      }
    }
    if !new.isEmpty || !gone.isEmpty { try storage.note(new, forgetting: gone) }
    return true
  }

  /// Returns the fields of a live record, or `nil` for a deleted or missing one.
  private static func members(_ record: ServerRecord?) throws -> [String: JSONValue]? {
    guard let record, !record.isDeleted else { return nil }
    return try record.fields.members()
  }

  /// Returns true if an index of a type is missing, or finished indexes lack entries.
  func isBehind(_ type: String, in storage: any ServerSnapshot) -> Bool {
    let state = storage.fieldIndexes
    guard let indexes = wanted.types[type], storage.head > 0, let catalog = state.catalog else {
      return false
    }
    if catalog.version <= wanted.version, indexes.contains(where: { catalog.live[$0] == nil }) { return true }
    return state.position < storage.head && indexes.contains { catalog.live[$0] != nil }
  }

  /// Adds entries of at most `limit` records, or deletes as many of an index that is no longer wanted. Returns true if
  /// more is to do.
  ///
  /// Each step is complete in itself, so the next one continues after a crash, in any process. Writes go on between
  /// them.
  func advance(in storage: any ServerTransaction, limit: Int = step.records) throws -> Bool {
    var state = storage.fieldIndexes
    let head = storage.head
    guard head > 0, var catalog = state.catalog, !(catalog.isEmpty && wanted.isEmpty) else { return false }
    let former = (catalog, state.position)
    catalog.adopt(wanted)
    if !catalog.live.isEmpty, state.position < head {
      state.position = try add(catalog.live, after: state.position, limit, in: storage) ?? head
    } else if !catalog.building.isEmpty {
      if let last = try add(catalog.building, after: catalog.built, limit, in: storage) {
        catalog.built = last
      } else {
        catalog.finish()
        state.position = head
      }
    } else if let number = catalog.dropped.first {
      let range = FieldEntryRange(number, FieldKey.whole)
      let entries = try storage.entries(in: range, after: nil, descending: false, limit: limit)
      try storage.note([], forgetting: entries)
      if entries.count < limit { catalog.dropped.removeFirst() }
    }
    if former.0 != catalog || former.1 != state.position {
      state.text = catalog.text
      try storage.setFieldIndexes(state)
    }
    let isBehind = !catalog.live.isEmpty && state.position < head
    return isBehind || !catalog.building.isEmpty || !catalog.dropped.isEmpty
  }

  /// Notes the entries of the records after a position. Returns the position of the last one, or `nil` if all have
  /// theirs now.
  private func add(
    _ indexes: [FieldIndex: Int64], after position: Int64, _ limit: Int, in storage: any ServerTransaction
  ) throws -> Int64? {
    let bytes = Self.step.bytes
    let page = try storage.changes(after: position, in: .everything, limit: limit, bytes: bytes)
    let byType = Dictionary(grouping: indexes, by: { $0.key.type })
    var entries: [FieldEntry] = []
    for entry in page where !entry.record.isDeleted {
      let record = entry.record
      guard let indexes = byType[record.id.type] else { continue }
      // A record that can't be read has no values.
      guard let members = try? record.fields.members() else { continue }
      for (index, number) in indexes {
        entries += wanted.keys(of: record, members, in: index).map {
          FieldEntry(index: number, key: $0, id: record.id.id)
        }
      }
    }
    if !entries.isEmpty { try storage.note(entries, forgetting: []) }
    guard let last = page.last?.position, last < storage.head else { return nil }
    let isWhole = page.count < limit && page.reduce(0) { $0 + $1.record.weight } < bytes
    return isWhole ? nil : last
  }
}

extension SyncService {
  /// Continues the space's indexes by one step of about a thousand records, in one transaction. Returns true if more is
  /// to do.
  ///
  /// Does nothing for a space whose indexes are complete, besides the transaction. Writes of the space wait for one
  /// step at most. After an error, or in another process, the next call continues. Throws the storage's errors.
  public func indexFields(space: String) async throws -> Bool {
    let indexing = FieldIndexing(wanted: rules.fieldIndexes)
    return try await storage.write(space: space) { try indexing.advance(in: $0) }
  }

  /// Completes the space's indexes, in at most a hundred steps. Returns false if more is to do. Costs a read if nothing
  /// is to do, and nothing without an index in the schema.
  func completeIndexes(of space: String) async throws -> Bool {
    let indexing = FieldIndexing(wanted: rules.fieldIndexes)
    guard !indexing.wanted.isEmpty else { return true }
    guard try await storage.read(space: space, { indexing.hasWork(in: $0) }) else { return true }
    for _ in 0..<100 { guard try await indexFields(space: space) else { return true } }
    return false
  }
}

extension FieldIndexing {
  /// Returns true if `advance` has something to do.
  func hasWork(in storage: any ServerSnapshot) -> Bool {
    let state = storage.fieldIndexes
    guard storage.head > 0, let catalog = state.catalog else { return false }
    var adopted = catalog
    adopted.adopt(wanted)
    return adopted != catalog || !catalog.building.isEmpty || !catalog.dropped.isEmpty
      || !catalog.live.isEmpty && state.position < storage.head
  }
}
