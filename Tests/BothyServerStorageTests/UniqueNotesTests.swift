import BothyStore
import BothySync
import BothySyncService
import Synchronization
import Testing

/// The notes of unique values, which an import leaves behind.
@Suite("Notes of unique values", .timeLimit(.minutes(5)))
struct UniqueNotesTests {
  /// A storage that counts its transactions that write.
  private final class CountedWrites: ServerStorage {
    let base: any ServerStorage
    private let writes = Mutex(0)

    init(_ base: any ServerStorage) { self.base = base }

    var identity: String { base.identity }
    var count: Int { writes.withLock { $0 } }

    func write<Result: Sendable>(
      space: String, _ body: @escaping @Sendable (any ServerTransaction) throws -> Result
    ) async throws -> Result {
      writes.withLock { $0 += 1 }
      return try await base.write(space: space, body)
    }

    func read<Result: Sendable>(
      space: String, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
    ) async throws -> Result {
      try await base.read(space: space, body)
    }

    func search<Result: Sendable>(
      space: String, within limit: Duration,
      _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
    ) async throws -> Result {
      try await base.search(space: space, within: limit, body)
    }
  }

  private static func user(_ number: Int64) -> StoredRecord {
    StoredRecord(
      position: number,
      record: ServerRecord(
        id: RecordID(type: "User", id: "u\(number)"), container: "User", version: "\(number)", modified: 1,
        owner: "ann", fields: FieldsDocument(["email": .string("e\(number)")])))
  }

  /// Inserts a record after five others whose values aren't noted, two at a time.
  private static func check(_ base: any ServerStorage) async throws {
    let storage = CountedWrites(base)
    let type = TypeSchema("User", fields: [FieldSchema("email", .text, optional: true, unique: true)])
    var rules = AccessRules(schema: StoreSchema(types: [type]))
    rules.uniqueStep = 2
    let users = (Int64(1)...5).map { user($0) }
    try await base.write(space: "s") { try $0.put(users) }
    let service = SyncService(storage: storage, rules: rules, now: { 1000 })
    var codes: [String] = []
    for email in ["e5", "e6", "e1"] {
      let operation = SyncOperation(
        id: "o", kind: .insert, record: RecordID(type: "User", id: "new \(email)"),
        fields: ["email": .string(email)])
      let verdict = try await service.perform(space: "s", user: Caller("ann"), operation)
      if case .rejected(let rejection) = verdict { codes.append(rejection.code) } else { codes.append("") }
      // The write, three steps, and the write again.
      #expect(storage.count == 4 + codes.count)
    }
    #expect(codes == ["uniqueViolation", "", "uniqueViolation"])
  }

  @Test("Notes that are far behind are completed in transactions of their own")
  func sqlite() async throws { try await Self.check(try SQLiteServerStorage()) }

  @Test(
    "Notes that are far behind are completed in transactions of their own in PostgreSQL",
    .enabled(if: RealPostgres.url != nil, RealPostgres.hint))
  func postgres() async throws { try await RealPostgres.with { try await Self.check($0) } }
}
