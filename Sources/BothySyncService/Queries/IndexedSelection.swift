import BothyStore

/// The records of a query in its order, found by an index and decided by the reference evaluator.
///
/// The entries name records to check. Records that changed since the index's position are read from the changes and
/// merged. So the answer is that of a scan, whatever the entries are.
struct IndexedSelection {
  /// The most changes since the index's position that are merged.
  static let tailLimit = 256
  /// The number of records that a walk may pass by before it ends, unless one in twenty is selected.
  static let patience = 4000
  /// The number of records that are read at a time.
  static let batch = 64

  private let storage: any ServerSnapshot
  private let query: AnyQuery
  private let type: TypeSchema
  private let order: [SortKey]
  let conditions: IndexConditions
  private let after: AnyRecord?
  private let shows: (ServerRecord) -> Bool
  private let position: Int64
  private var tail: ArraySlice<Match> = []
  private var (examined, selected) = (0, 0)

  /// The memory for the records that wait for others.
  private var room: MatchRoom

  typealias Match = SelectionMatch

  /// Returns `nil` if no index of the type has all entries, or if too much changed since.
  ///
  /// - Parameters:
  ///   - query: a checked query of the type.
  ///   - after: a record in whose place the selection begins.
  ///   - shows: returns false for a record that is left out.
  init?(
    _ query: AnyQuery, _ type: TypeSchema, after: AnyRecord?, in storage: any ServerSnapshot,
    shows: @escaping (ServerRecord) -> Bool
  ) throws {
    let state = storage.fieldIndexes
    guard let live = state.catalog?.live, !live.isEmpty else { return nil }
    conditions = IndexConditions(query, type, live: live)
    guard !conditions.isEmpty else { return nil }
    (self.storage, self.query, self.type, self.after, self.shows) = (storage, query, type, after, shows)
    (order, position) = (query.totalOrder, state.position)
    room = MatchRoom(query.totalOrder)
    guard let tail = try readTail() else { return nil }
    self.tail = tail[...]
  }

  /// Returns the selected records among the changes since the index's position, in order, or `nil` if these are too
  /// many.
  private func readTail() throws -> [Match]? {
    guard position < storage.head else { return [] }
    let bytes = FieldIndexing.step.bytes
    let page = try storage.changes(
      after: position, in: .everything, limit: Self.tailLimit + 1, bytes: bytes)
    guard page.count <= Self.tailLimit,
      page.reduce(0, { $0 + $1.record.weight }) < bytes
    else { return nil }
    var found: [Match] = []
    for entry in page where entry.record.id.type == query.type && !entry.record.isDeleted {
      if let record = try match(entry, try entry.record.fields.members()) {
        found.append(Match(entry, record))
      }
    }
    return found.sorted(by: precedes)
  }

  private func precedes(_ one: Match, _ other: Match) -> Bool {
    one.record.precedes(other.record, by: order, type)
  }

  /// Returns the record if the query selects it.
  private func match(_ entry: StoredRecord, _ members: [String: JSONValue]) throws -> AnyRecord? {
    var record = AnyRecord(entry.record, members, type)
    guard query.holds(record, type) else { return nil }
    record.noteSortKeys(order, type)
    guard after?.precedes(record, by: order, type) ?? true, shows(entry.record) else { return nil }
    return record
  }

  /// Returns the selected ones among the records of a key, in the order of the ids.
  private mutating func matches(_ ids: ArraySlice<String>, of key: [UInt8], _ index: FieldIndex) throws
    -> [Match]
  {
    let names = ids.map { RecordID(type: query.type, id: $0) }
    var found: [Match] = []
    var memory = room
    try storage.visitRecords(names) { entry in
      guard !entry.record.isDeleted, entry.position <= position else { return }
      let members = try entry.record.fields.members()
      guard index.keys(in: members).contains(key), let record = try match(entry, members) else { return }
      found.append(memory.kept(Match(entry, record)))
    }
    room = memory
    examined += ids.count
    return found
  }

  // MARK: gathering

  /// Returns the selected records of some keys, in order, or `nil` if their sort keys are too large for memory.
  ///
  /// - Parameter most: the number of records that are needed, or `nil` for all.
  mutating func gather(_ ranges: [FieldEntryRange], most: Int?) throws -> [Match]? {
    room = MatchRoom(order)
    var found = Array(tail)
    var seen: Set<RecordID> = []
    for range in ranges {
      guard let index = conditions.index(numbered: range.index, of: type) else { continue }
      var runs = EntryRuns(range, isDescending: false, after: nil, in: storage)
      while let (key, ids) = try runs.next() {
        for batch in ids.batches(of: Self.batch) {
          for match in try matches(batch, of: key, index) where seen.insert(match.record.recordID).inserted {
            found.append(match)
          }
          if room.isFull { return nil }
        }
        if let most, found.count > max(2 * most, 1000) {
          found = Array(found.sorted(by: precedes).prefix(most))
        }
      }
    }
    return found.sorted(by: precedes)
  }

  /// The radius of the first circle around a place, in metres, and the factor of the next one.
  private static let circle = (first: 1000.0, growth: 4.0)

  /// Returns the first `most` records in the order of their distance from a place, or `nil` if no index finds them.
  /// Reads circles that grow until they have as many, and ends at one with too many records to gather.
  mutating func nearest(_ most: Int) throws -> [Match]? {
    guard let key = order.first, let origin = key.origin, key.ascending, most <= IndexPlan.gatherLimit else {
      return nil
    }
    var metres = max(Self.circle.first, after?.distance(of: key.field, from: origin) ?? 0)
    while metres < Coordinate.earthRadius {
      guard let ranges = conditions.circle(of: key.field, around: origin, metres: metres) else { return nil }
      let count = try storage.entryCounts(in: ranges, limit: IndexPlan.gatherLimit + 1).reduce(0, +)
      guard count <= IndexPlan.gatherLimit else { return nil }
      if count + tail.count >= most {
        guard let all = try gather(ranges, most: nil) else { return nil }
        let found = all.filter { $0.record.distance(of: key.field, from: origin) <= metres }
        if found.count >= most { return Array(found.prefix(most)) }
      }
      metres *= Self.circle.growth
    }
    return nil
  }

  // MARK: walking

  /// The end of a walk.
  enum End {
    /// All records were found, or enough.
    case finished
    /// The walk passed by too many records. A scan continues after the last one that `body` received.
    case tired
  }

  /// Calls `body` with the selected records in order, until it returns false.
  mutating func walk(_ walk: IndexWalk, _ body: (Match) throws -> Bool) throws -> End {
    guard let index = conditions.index(numbered: walk.range.index, of: type) else { return .tired }
    var runs = start(of: walk)
    var group: (key: [UInt8], matches: [Match])?
    while let (key, ids) = try runs.next() {
      if let ended = group, ended.key != key {
        group = nil
        room = MatchRoom(order)
        guard try emit(ended.matches.sorted(by: precedes), body) else { return .finished }
      }
      let isInOrder = walk.followsIDs && !FieldKey.isCut(key)
      for batch in ids.batches(of: Self.batch) {
        if isInOrder { room = MatchRoom(order) }
        let found = try matches(batch, of: key, index)
        selected += found.count
        if isInOrder {
          guard try emit(found, body) else { return .finished }
        } else {
          group = (key, (group?.matches ?? []) + found)
          if let group, group.matches.count > IndexPlan.gatherLimit || room.isFull { return .tired }
        }
        if examined > Self.patience, selected * 20 < examined { return .tired }
      }
    }
    guard try emit(group?.matches.sorted(by: precedes) ?? [], body) else { return .finished }
    for match in tail { guard try body(match) else { break } }
    return .finished
  }

  /// Passes on records, and the changed ones that come before them.
  private mutating func emit(_ matches: [Match], _ body: (Match) throws -> Bool) throws -> Bool {
    for match in matches {
      while let changed = tail.first, precedes(changed, match) {
        tail.removeFirst()
        guard try body(changed) else { return false }
      }
      guard try body(match) else { return false }
    }
    return true
  }

  /// Returns the entries of a walk from the place of the record after which it begins.
  private func start(of walk: IndexWalk) -> EntryRuns {
    var range = walk.range
    var entry: FieldEntry?
    if let after, let first = order.first {
      let key = walk.isByKey ? FieldKey.key(after.orderValue(first, type)) : range.lower
      let isWithin = walk.followsIDs && !FieldKey.isCut(key)
      if walk.isDescending {
        let end = isWithin ? key : key + [0]
        if end.lexicographicallyPrecedes(range.upper) { range.upper = end }
      } else if range.lower.lexicographicallyPrecedes(key) {
        range.lower = key
      }
      if isWithin, walk.range.keys.contains(key) {
        entry = FieldEntry(index: range.index, key: key, id: after.id)
      }
    }
    return EntryRuns(range, isDescending: walk.isDescending, after: entry, in: storage)
  }
}

extension KeyRange {
  func contains(_ key: [UInt8]) -> Bool {
    !key.lexicographicallyPrecedes(lower) && key.lexicographicallyPrecedes(upper)
  }
}

extension Array {
  fileprivate func batches(of size: Int) -> [ArraySlice<Element>] {
    stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
  }
}

extension AnyRecord {
  /// Makes a record with the fields of the type. A value of another kind counts as null.
  package init(_ record: ServerRecord, _ members: [String: JSONValue], _ type: TypeSchema) {
    self.init(record.id.type, id: record.id.id, container: record.container, version: record.version)
    origin.metadata = RecordMetadata(
      created: record.created, modified: record.modified, owner: record.owner)
    for field in type.fields {
      guard let json = members[field.name], !json.isNull else { continue }
      // A value of another kind counts as null.
      self[field.name] = (try? FieldValue(json: json, kind: field.kind)) ?? .null
    }
  }
}
