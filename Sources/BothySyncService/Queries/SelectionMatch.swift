package import BothyStore

/// A record that a query selects, in its stored form and as the evaluator reads it.
package struct SelectionMatch {
  package private(set) var entry: StoredRecord
  package private(set) var record: AnyRecord
  /// True if it has no other fields than the sort keys, because the records before it filled the memory of the query.
  private(set) var isBare = false

  package init(_ entry: StoredRecord, _ record: AnyRecord) { (self.entry, self.record) = (entry, record) }

  /// Removes the fields that no sort key needs.
  mutating func strip(to order: [SortKey]) {
    let keys = Set(order.map(\.field) + order.compactMap(\.notedName))
    entry.record.fields = .empty
    record.fields = record.fields.filter { keys.contains($0.key) }
    isBare = true
  }

  /// Returns the whole record. Costs a look-up for a bare one.
  package func whole(in storage: any ServerSnapshot) throws -> StoredRecord {
    guard isBare else { return entry }
    return try storage.records([entry.record.id])[entry.record.id] ?? entry
  }
}

/// The memory for the records of a query that wait until all are found and sorted.
package struct MatchRoom {
  private let order: [SortKey]
  private var bytes = 16 << 20
  private var keyBytes = 16 << 20

  /// - Parameter order: the sort keys, which bare records keep.
  package init(_ order: [SortKey]) { self.order = order }

  /// True if the sort keys alone are too large. Then some of the records have to go.
  package var isFull: Bool { keyBytes < 0 }

  /// Returns the record to keep, a bare one if the others have filled the memory.
  package mutating func kept(_ match: SelectionMatch) -> SelectionMatch {
    let size = match.entry.record.weight
    if !match.isBare, size <= bytes {
      bytes -= size
      return match
    }
    var bare = match
    bare.strip(to: order)
    for case .text(let text) in bare.record.fields.values { keyBytes -= text.utf8.count }
    return bare
  }
}

extension ServerSnapshot {
  /// Visits the records with these ids, which differ, in their order. Missing ones are left out. Reads about four
  /// megabytes at a time.
  func visitRecords(_ ids: [RecordID], _ body: (StoredRecord) throws -> Void) throws {
    let bytes = 4 << 20
    var rest = ids[...]
    while !rest.isEmpty {
      let found = try records(Array(rest), bytes: bytes)
      for entry in found { try body(entry) }
      let size = found.reduce(0) { $0.addingClamped($1.record.weight) }
      // The last record may have ended the reading.
      guard size >= bytes, let end = found.last.flatMap({ rest.firstIndex(of: $0.record.id) }) else { return }
      rest = rest[(end + 1)...]
    }
  }
}
