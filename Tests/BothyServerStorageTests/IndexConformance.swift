import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import Testing

/// Random queries by indexes and in pages, while indexes are built, records change, and other servers write. Every
/// answer must be the reference evaluator's.
struct IndexConformance {
  private static let space = "indexed"
  private let seed: UInt64
  private let storage: any ServerStorage
  private var world: RandomQueries
  private let type: TypeSchema
  private let service: SyncService

  init(seed: UInt64, storage: any ServerStorage) {
    (self.seed, self.storage) = (seed, storage)
    world = RandomQueries(seed: seed &+ 1_000_000)
    var type = world.type
    type.isSynced = true
    // With an even seed all fields have an index that can, with an odd one those that happen to.
    for place in type.fields.indices where seed % 2 == 0 && type.fields[place].kind != .json {
      type.fields[place].isIndexed = true
    }
    self.type = type
    service = SyncService(
      storage: storage, rules: AccessRules(schema: StoreSchema(types: [type]), checksReferences: false),
      now: { 1000 })
  }

  mutating func run() async throws {
    // Without an index, from a server that knows none.
    let first = try entries(150, "a")
    try await storage.write(space: Self.space) { try $0.put(first) }
    try await compare("no index", rounds: 4)
    while try await service.indexFields(space: Self.space) {}
    try await compare("built", rounds: 12)
    // Changes by this server, of which a part replaces earlier records.
    let changed = try entries(40, "a") + entries(20, "b")
    _ = try await service.restore(changed.map(\.record), into: Self.space)
    try await compare("kept", rounds: 8)
    let deleted = (0..<5).map {
      ServerRecord(id: first[$0 * 7].record.id, version: "", modified: 9, isDeleted: true)
    }
    _ = try await service.restore(deleted, into: Self.space)
    try await compare("deleted", rounds: 4)
    // Changes by a server that knows no index: few, and then too many to read with each query.
    for count in [10, 300] {
      try await behind(entries(count, "a"))
      try await compare("behind by \(count)", rounds: 6)
    }
    while try await service.indexFields(space: Self.space) {}
    try await compare("complete again", rounds: 8)
  }

  private func behind(_ entries: [StoredRecord]) async throws {
    try await storage.write(space: Self.space) { storage in
      let start = storage.head
      try storage.put(
        entries.enumerated().map { place, entry in
          StoredRecord(position: start + Int64(place) + 1, record: entry.record)
        })
    }
  }

  /// Returns random records whose ids begin with a letter. Those of two calls have ids in common.
  private mutating func entries(_ count: Int, _ letter: String) throws -> [StoredRecord] {
    world.records(count).enumerated().map { place, record in
      StoredRecord(
        position: Int64(place + 1),
        record: ServerRecord(
          id: RecordID(type: type.name, id: "\(letter)\(place)"), container: record.container, version: "",
          modified: record.metadata.modifiedTime ?? 0, created: record.metadata.createdTime,
          owner: record.metadata.owner, fields: FieldsDocument(canonical: QueryConformance.document(record))))
    }
  }

  /// Returns the live records as the reference evaluator reads them.
  private func records() async throws -> [AnyRecord] {
    let type = type
    return try await storage.read(space: Self.space) { storage in
      try storage.changes(after: 0, in: .everything, limit: .max).filter { !$0.record.isDeleted }
        .map { AnyRecord($0.record, try $0.record.fields.members(), type) }
    }
  }

  private mutating func compare(_ state: String, rounds: Int) async throws {
    let records = try await records()
    let schema = StoreSchema(types: [type])
    for round in 0..<rounds {
      var query = world.query()
      if round % 3 == 0 {
        query.filter = .all
        query.order.removeAll(where: \.isRank)
      }
      let expected = try query.evaluate(over: records, schema: type).map(\.id)
      var all = query
      (all.limit, all.offset) = (nil, 0)
      let whole = try all.evaluate(over: records, schema: type).map(\.id)
      let comment: Comment = "seed \(seed), \(state), round \(round): \(query)"
      let selected = query
      let (found, scanned, count) = try await storage.read(space: Self.space) { storage in
        var found: [String] = []
        try storage.select(selected, schema: schema) {
          found.append($0.record.id.id)
          return true
        }
        return (
          found, try storage.query(selected, schema: schema).map(\.record.id.id),
          try storage.number(of: selected, schema: schema)
        )
      }
      #expect(found == expected, comment)
      #expect(scanned == expected, comment)
      #expect(count == whole.count, comment)
      let size = [1, 7, 50][round % 3]
      all.limit = whole.count > 40 && size == 1 ? 20 : size
      #expect(try await pages(all) == whole, comment)
    }
  }

  /// Returns the ids of all pages of a query.
  private func pages(_ query: AnyQuery) async throws -> [String] {
    let schema = StoreSchema(types: [type])
    var found: [String] = []
    var cursor: String?
    repeat {
      let (after, earlier) = (cursor, found)
      // Reads in one storage transaction, because the service continues the indexes.
      (cursor, found) = try await storage.read(space: Self.space) { storage in
        var (page, isMore) = ([StoredRecord](), false)
        var larger = query
        larger.limit = query.limit.map { $0 + 1 }
        let start = try after.map { try QueryCursor($0, for: query, schema).record }
        try storage.select(larger, after: start, schema: schema) { entry in
          isMore = page.count == query.limit
          if !isMore { page.append(entry) }
          return !isMore
        }
        let last = isMore ? page.last : nil
        let next = try last.flatMap { try QueryCursor.token(of: $0.record, in: query, schema) }
        return (next, earlier + page.map(\.record.id.id))
      }
    } while cursor != nil && found.count < 10_000
    return found
  }
}
