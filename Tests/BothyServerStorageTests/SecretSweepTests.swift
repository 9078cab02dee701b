import BothyStore
import BothySync
import BothySyncService
import Synchronization
import Testing

/// The daily deletion of secrets whose records are gone.
@Suite("The sweep of secrets", .timeLimit(.minutes(5)))
struct SecretSweepTests {
  private final class Vault: SecretVault {
    private let held: Mutex<[RecordID]>

    init(_ held: [RecordID]) { self.held = Mutex(held) }

    var all: [RecordID] { held.withLock { $0 } }

    func holds(space: String, _ record: RecordID) -> Bool { all.contains(record) }
    func remove(space: String, _ record: RecordID) throws { held.withLock { $0.removeAll { $0 == record } } }
    func remove(space: String) throws {}
    func records(of space: String) throws -> [RecordID] { all }
  }

  private static func id(_ number: Int64) -> RecordID { RecordID(type: "Card", id: "c\(number)") }

  @Test("A sweep has few records in memory, and deletes what has no live record")
  func pieces() async throws {
    let base = try SQLiteServerStorage()
    let body = JSONValue.string(String(repeating: "x", count: 100_000))
    let entries = (Int64(1)...60).map { number in
      StoredRecord(
        position: number,
        record: ServerRecord(
          id: Self.id(number), container: "Card", version: "\(number)", modified: 1, owner: "ann",
          isDeleted: number <= 5, fields: number <= 5 ? .empty : FieldsDocument(["body": body])))
    }
    try await base.write(space: "s") { try $0.put(entries) }
    let storage = CountingStorage(base, countsReads: true)
    let vault = Vault((Int64(1)...61).map { Self.id($0) })
    var rules = AccessRules()
    rules.secretVault = vault
    let service = SyncService(storage: storage, rules: rules, now: { 1000 })
    _ = try await service.upkeep(space: "s", RetentionPolicy())
    #expect(vault.all == (Int64(6)...60).map { Self.id($0) })
    let largest = storage.taken().largest
    #expect((1_000_000..<2_000_000).contains(largest))
  }
}
