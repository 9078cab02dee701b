import BothyStore

/// The ids of the records that the operations of a request need, those of amendments included.
struct RecordNeeds {
  /// The records that an operation changes or compares, by the operation's id.
  private(set) var whole: [String: [RecordID]] = [:]
  /// The records that operations refer to or share with, of which only the readers matter.
  private(set) var named: Set<RecordID> = []
  /// The operations with references for which the request has no room, by their ids.
  private(set) var crowded: Set<String> = []

  init(
    of operations: [SyncOperation], _ values: ProposedValues,
    _ holders: [UniqueFieldValue: Set<RecordID>], _ rules: AccessRules
  ) {
    crowded = values.crowded
    for operation in operations {
      var others = rules.references(in: operation.fields, of: operation.record.type).map(\.id)
      if let sharing = operation.sharing { others += sharing.add.lists.map(UserList.recordID) }
      if named.count + others.count > FixedLimits.references {
        crowded.insert(operation.id)
      } else {
        named.formUnion(others)
      }
      whole[operation.id, default: []].append(operation.record)
      for value in values.values[operation.id] ?? [] {
        whole[operation.id, default: []] += holders[value] ?? []
      }
    }
  }
}

/// The records that the operations of a request change or compare, as many as one request may read.
struct NeededRecords {
  private(set) var records: [RecordID: StoredRecord] = [:]
  /// The ids that were read, with those of missing records.
  private(set) var read: Set<RecordID> = []
  /// The operations for whose records the request has no room, by their ids.
  private(set) var unread: Set<String>

  /// Reads the records of the operations in order, in one round trip. The first record is always read.
  ///
  /// - Parameter bytes: the bytes of fields with which the reading ends.
  init(
    of operations: [SyncOperation], _ needs: RecordNeeds, bytes: Int, in storage: any ServerSnapshot
  ) throws {
    unread = needs.crowded
    let wanted = operations.map { ($0.id, needs.whole[$0.id] ?? []) }
    var ids: [RecordID] = []
    for (_, some) in wanted { for id in some where read.insert(id).inserted { ids.append(id) } }
    let found = try storage.records(ids, bytes: bytes)
    records = Dictionary(found.map { ($0.record.id, $0) }, uniquingKeysWith: { first, _ in first })
    let size = found.reduce(0) { $0.addingClamped($1.record.weight) }
    // The last record ended the reading, so those after it were not looked for.
    guard size >= bytes, let last = found.last?.record.id, let end = ids.firstIndex(of: last) else { return }
    let left = ids[(end + 1)...]
    if left.isEmpty { return }
    read.subtract(left)
    for (operation, some) in wanted where !read.isSuperset(of: some) { unread.insert(operation) }
  }
}
