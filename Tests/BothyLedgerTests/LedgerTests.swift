import BothyStore
import BothySync
import BothySyncService
import Foundation
import Testing

@Suite("Ledgers in SQLite", .timeLimit(.minutes(5)))
struct SQLiteServerStorageTests {
  @Test("A SQLite storage in memory conforms", arguments: ServerStorageConformance.checks)
  func memory(check: ServerStorageConformance.Check) async throws {
    try await check.run(SQLiteServerStorage())
  }

  @Test("A SQLite storage in a file conforms", arguments: ServerStorageConformance.checks)
  func file(check: ServerStorageConformance.Check) async throws {
    let folder = try TemporaryFolder()
    let storage = try SQLiteServerStorage(at: folder.path + "/ledger.sqlite")
    try await check.run(storage)
    try storage.close()
  }

  @Test("A SQLite storage answers queries as the reference does", arguments: 0..<20 as Range<UInt64>)
  func queries(seed: UInt64) async throws {
    try await QueryConformance(seed: seed).run(SQLiteServerStorage())
  }

  @Test("A file storage keeps its content when it is opened again")
  func reopening() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/ledger.sqlite"
    let first = try SQLiteServerStorage(at: path)
    let epoch = try await first.write(space: "s") { storage in
      try storage.put([ServerStorageConformance.entry(1, "a")])
      return storage.epoch
    }
    try first.close()
    let second = try SQLiteServerStorage(at: path)
    let found = try await second.read(space: "s") { ($0.head, $0.epoch, try $0.records([.note("a")]).count) }
    #expect(found == (1, epoch, 1))
    #expect(!first.identity.isEmpty && first.identity == second.identity)
    #expect(try await second.spaces() == ["s"])
    try second.close()
  }

  @Test("A file of a newer server is refused, and stays as it is")
  func newer() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/ledger.sqlite"
    try SQLiteServerStorage(at: path).close()
    try Self.setVersion(99, of: path)
    let bytes = try Data(contentsOf: URL(filePath: path))
    let error = #expect(throws: BothyError.self) { try SQLiteServerStorage(at: path) }
    #expect(error?.code == .newerFile)
    #expect(#expect(throws: BothyError.self) { try SQLiteServerStorage.migrate(path) }?.code == .newerFile)
    #expect(try Data(contentsOf: URL(filePath: path)) == bytes)
  }

  @Test("A file of an older server gets the missing steps, if it may")
  func older() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/ledger.sqlite"
    let first = try SQLiteServerStorage(at: path, migrates: false)
    try await first.write(space: "s") { try $0.put([ServerStorageConformance.entry(1, "a")]) }
    try first.close()
    try Self.setVersion(1, of: path)
    let error = #expect(throws: BothyError.self) { try SQLiteServerStorage(at: path, migrates: false) }
    #expect(error?.code == .schemaMismatch)
    let (before, after) = try SQLiteServerStorage.migrate(path)
    #expect(before == 1 && after > 1)
    let second = try SQLiteServerStorage(at: path, migrates: false)
    #expect(try await second.read(space: "s") { $0.head } == 1)
    try second.close()
  }

  /// Sets the number that SQLite keeps for `PRAGMA user_version`, in the bytes 60 to 63 of a file.
  static func setVersion(_ version: UInt8, of path: String) throws {
    let file = try FileHandle(forUpdating: URL(filePath: path))
    try file.seek(toOffset: 60)
    try file.write(contentsOf: Data([0, 0, 0, version]))
    try file.close()
  }
}

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
          owner: record.metadata.owner, fields: FieldsDocument(canonical: document(record))))
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
  }

  private func document(_ record: AnyRecord) -> [UInt8] {
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
