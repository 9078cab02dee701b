import BothyStore
import BothySync
import BothySyncService
import Testing

/// The records that are read to decide who sees them, and that no answer has.
@Suite("Records that are read for their readers alone", .timeLimit(.minutes(5)))
struct RecordPieceTests {
  private static let count: Int64 = 100
  private static let bob = Caller("bob")

  /// Accepts every write, so that a preview is read before it.
  private struct Accepting: WriteRule {
    func decisions(on proposal: WriteProposal) async throws -> [WriteDecision] {
      proposal.writes.map { _ in .accept }
    }
  }

  private let storage: CountingStorage
  private let service: SyncService

  /// Makes a server with records of a thousand bytes, all of Bob.
  init() async throws {
    storage = CountingStorage(try SQLiteServerStorage(), countsReads: true)
    var rules = AccessRules(
      schema: StoreSchema(types: [
        TypeSchema(
          "Doc", fields: [FieldSchema("text", .text)],
          permissions: Permissions(read: .shared, update: .shared, delete: .owner)),
        TypeSchema(
          "Shelf", fields: [FieldSchema("docs", .references(to: "Doc", onDelete: .nullify), optional: true)]),
      ]))
    rules.writeRule = Accepting()
    service = SyncService(storage: storage, rules: rules, now: { 1000 })
    try await put(in: "box", after: 0)
  }

  private static func id(_ number: Int64) -> RecordID { RecordID(type: "Doc", id: "d\(number)") }

  private func put(in container: String, after start: Int64, leaving former: String? = nil) async throws {
    let text = JSONValue.string(String(repeating: "x", count: 1000))
    let entries = (Int64(1)...Self.count).map { number in
      StoredRecord(
        position: start + number,
        record: ServerRecord(
          id: Self.id(number), container: container, version: "\(start + number)", modified: 1, owner: "bob",
          fields: FieldsDocument(["text": text])), leaves: former)
    }
    let history = entries.map { entry in
      HistoryEntry(
        position: entry.position, kind: .update, record: entry.record.id, container: container, time: 1)
    }
    try await storage.write(space: "s") { storage in
      try storage.put(entries)
      try storage.put(history, keeping: 1000)
    }
  }

  private func pull(_ scope: SyncScope, _ cursor: String? = nil) async throws -> SyncResponse.Page {
    let request = SyncRequest(device: "d", pulls: [.init(scope, cursor: cursor)])
    return try #require(try await service.sync(space: "s", user: Self.bob, request).pages.first)
  }

  private func expectPieces() {
    let largest = storage.taken().largest
    #expect((1000...20_000).contains(largest), "\(largest)")
  }

  @Test("A page of history reads few whole records at a time")
  func history() async throws {
    let found = try await service.history(space: "s", user: Self.bob, HistoryQuery())
    #expect(found.entries.count == 100)
    expectPieces()
  }

  @Test("Moves and notices read few whole records at a time")
  func moves() async throws {
    let box = SyncScope(container: "box")
    let before = try await pull(box).cursor
    try await put(in: "bag", after: Self.count, leaving: "box")
    _ = storage.taken()
    #expect(try await pull(box, before).outOfScope.count == 100)
    expectPieces()
    let all = try await pull(.everything).cursor
    try await storage.write(space: "s") { storage in
      try storage.put(
        (Int64(1)...Self.count).map {
          VisibilityNotice(position: 2 * Self.count + $0, user: "bob", record: Self.id($0))
        })
    }
    _ = storage.taken()
    #expect(try await pull(.everything, all).changes.count == 100)
    expectPieces()
  }

  @Test("A push reads as many bytes as it may, and repetitions the rest")
  func push() async throws {
    var service = service
    service.rules.pushSize = 10_000
    var open = (Int64(1)...Self.count).map { number in
      SyncOperation(
        id: "o\(1000 + number)", kind: .update, record: Self.id(number), base: "\(number)",
        fields: ["text": "t"])
    }
    _ = storage.taken()
    for _ in 0..<20 where !open.isEmpty {
      let request = SyncRequest(device: "d", operations: open)
      let found = try await service.sync(space: "s", user: Self.bob, request).outcomes
      #expect(found.map(\.operation) == open.prefix(10).map(\.id))
      for outcome in found { #expect(outcome.verdict.isApplied) }
      open.removeFirst(found.count)
      #expect((1000...11_500).contains(storage.taken().largest))
    }
    #expect(open.isEmpty)
  }

  @Test("A request reads a limited number of records that its changes refer to")
  func manyReferences() async throws {
    func shelf(_ name: String, docs: ClosedRange<Int>) -> BothySync.SyncOperation {
      SyncOperation(
        id: name, kind: .insert, record: RecordID(type: "Shelf", id: name),
        fields: ["docs": .array(docs.map { .string("x\($0)") })])
    }
    func codes(_ shelves: [BothySync.SyncOperation]) async throws -> [String] {
      let request = SyncRequest(device: "d", operations: shelves)
      return try await service.sync(space: "s", user: Self.bob, request).outcomes.map { outcome in
        if case .rejected(let rejection) = outcome.verdict { rejection.code } else { "\(outcome.verdict)" }
      }
    }
    _ = storage.taken()
    #expect(try await codes([shelf("a", docs: 1...30_001)]) == ["tooLarge"])
    #expect(storage.taken().records < 10)
    let two = [shelf("b", docs: 1...20_000), shelf("c", docs: 20_001...40_000)]
    #expect(try await codes(two) == ["unknownReference"])
    #expect(storage.taken().records < 20_010)
    #expect(try await codes([two[1]]) == ["unknownReference"])
  }

  @Test("A change reads few of the records that it refers to at a time")
  func references() async throws {
    let docs = JSONValue.array((Int64(1)...Self.count).map { .string(Self.id($0).id) })
    let shelf = SyncOperation(
      id: "o", kind: .insert, record: RecordID(type: "Shelf", id: "s"), fields: ["docs": docs])
    #expect(try await service.perform(space: "s", user: Self.bob, shelf).isApplied)
    expectPieces()
  }
}
