import BothyStore

/// The records that the operations of a request change or compare, as many as one request may read.
struct NeededRecords {
  private(set) var records: [RecordID: StoredRecord] = [:]
  /// The ids that were read, with those of missing records.
  private(set) var read: Set<RecordID> = []
  /// The operations some of whose records were not read, by their ids.
  private(set) var unread: Set<String> = []

  /// Reads the records of the operations in order, in one round trip. The first record is always read.
  ///
  /// - Parameters:
  ///   - needs: the records of each operation, the operations in the request's order.
  ///   - bytes: the bytes of fields with which the reading ends.
  init(
    _ needs: [(operation: String, ids: [RecordID])], bytes: Int, in storage: any ServerSnapshot
  ) throws {
    var ids: [RecordID] = []
    for id in needs.lazy.flatMap(\.ids) where read.insert(id).inserted { ids.append(id) }
    let found = try storage.records(ids, bytes: bytes)
    records = Dictionary(found.map { ($0.record.id, $0) }, uniquingKeysWith: { first, _ in first })
    let size = found.reduce(0) { $0.addingClamped($1.record.fields.bytes.count) }
    // The last record ended the reading, so those after it were not looked for.
    guard size >= bytes, let last = found.last?.record.id, let end = ids.firstIndex(of: last) else { return }
    let left = ids[(end + 1)...]
    if left.isEmpty { return }
    read.subtract(left)
    unread = Set(needs.filter { !read.isSuperset(of: $0.ids) }.map(\.operation))
  }
}
