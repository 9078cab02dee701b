import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import Foundation
import Testing

@Suite("Ledgers in SQLite", .timeLimit(.minutes(5)))
struct SQLiteServerStorageTests {
  /// Promises
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

  /// Promises: A-3
  @Test("A SQLite storage answers queries as the reference does", arguments: RandomQueries.seeds(4))
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

  @Test("A device's file is refused, and stays as it is")
  func foreign() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/notes.bothy"
    try LocalStore(at: path, schema: StoreSchema(types: [])).close()
    let bytes = try Data(contentsOf: URL(filePath: path))
    let error = #expect(throws: BothyError.self) { try SQLiteServerStorage(at: path) }
    #expect(error?.code == .notADatabase)
    #expect(
      error?.message
        == "\(path) is not the database of a Bothy server. Choose another path; the file was left as it is.")
    #expect(#expect(throws: BothyError.self) { try SQLiteServerStorage.migrate(path) }?.code == .notADatabase)
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

  @Test("A file of an older server loses rows of shared records that are gone")
  func strayShares() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/ledger.sqlite"
    let first = try SQLiteServerStorage(at: path)
    #expect(try await ServerStorageConformance.leaveStrayShare(in: first) == [.note("a"), .note("gone")])
    try first.close()
    try Self.setVersion(6, of: path)
    let second = try SQLiteServerStorage(at: path)
    #expect(try await ServerStorageConformance.sharedRows(second) == [.note("a")])
    try second.close()
  }

  @Test("A file of an older server gets the owners of lists that name users")
  func listOwners() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/ledger.sqlite"
    let first = try SQLiteServerStorage(at: path)
    try await ServerStorageConformance.leaveListWithoutOwner(in: first)
    #expect(try await ServerStorageConformance.listsOfBob(first) == 0)
    try first.close()
    try Self.setVersion(8, of: path)
    let second = try SQLiteServerStorage(at: path)
    #expect(try await ServerStorageConformance.listsOfBob(second) == 1)
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
