import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import Testing

/// Random queries over random records. A storage must return and count the records of the reference evaluator.
struct QueryConformance {
  let seed: UInt64

  func run(_ storage: any ServerStorage) async throws {
    var world = RandomQueries(seed: seed)
    let type = world.type
    let schema = StoreSchema(types: [type])
    // Versions belong to the storage, and every record has a container.
    var records = world.records(40)
    for index in records.indices {
      records[index].version = String(index + 1)
      let metadata = records[index].metadata
      records[index].origin.metadata.modifiedTime = metadata.modifiedTime ?? 0
    }
    let entries = records.enumerated().map { index, record in
      StoredRecord(
        position: Int64(index + 1),
        record: ServerRecord(
          id: record.recordID, container: record.container, version: String(index + 1),
          modified: record.metadata.modifiedTime ?? 0, created: record.metadata.createdTime,
          owner: record.metadata.owner, fields: FieldsDocument(canonical: Self.document(record))))
    }
    try await storage.write(space: "s") { try $0.put(entries) }
    for round in 0..<40 {
      let query = world.query()
      let expected = try query.evaluate(over: records, schema: type).map(\.id)
      let found = try await storage.read(space: "s") { storage in
        (
          try storage.query(query, schema: schema).map(\.record.id.id),
          try storage.count(query, schema: schema)
        )
      }
      let comment: Comment = "seed \(seed), round \(round): \(query)"
      #expect(found.0 == expected, comment)
      var all = query
      (all.limit, all.offset) = (nil, 0)
      #expect(found.1 == (try all.evaluate(over: records, schema: type).count), comment)
    }
    var indexed = IndexConformance(seed: seed, storage: storage)
    try await indexed.run()
  }

  static func document(_ record: AnyRecord) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    for (name, value) in record.fields.sorted(by: { $0.key < $1.key }) {
      writer.key(name)
      value.write(to: &writer)
    }
    writer.endObject()
    return writer.bytes
  }
}
