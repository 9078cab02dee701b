import BothyStore
import BothySync
import BothySyncService
import Testing

/// Limits of the lists that one answer holds whole.
@Suite("Bounds of lists", .timeLimit(.minutes(5)))
struct ListBoundTests {
  private let ann = Caller("ann")

  /// Returns a server with 30 records, each in a container of its own, and room for about a dozen in an answer.
  private func service() async throws -> SyncService {
    let storage = try SQLiteServerStorage()
    try await storage.write(space: "s") { transaction in
      try transaction.put(
        (1...30).map { number in
          let record = ServerRecord(
            id: RecordID(type: "Note", id: "n\(number)"), container: "c/\(number)", version: String(number),
            modified: 1, fields: FieldsDocument(["title": "x"]))
          return StoredRecord(position: Int64(number), record: record)
        })
    }
    var rules = AccessRules()
    rules.answerSize = 1000
    return SyncService(storage: storage, rules: rules, now: { 1000 })
  }

  @Test("Stamps beyond an answer are refused, and those of fewer parts given")
  func stamps() async throws {
    let service = try await service()
    let error = await #expect(throws: SyncServiceError.self) {
      try await service.stamps(space: "s", user: ann, .everything, parts: 1, in: [0])
    }
    #expect(error?.code == .answerTooLarge)
    var found: Set<RecordID> = []
    for part in 0..<8 {
      let stamps = try await service.stamps(space: "s", user: ann, .everything, parts: 8, in: [part])
      found.formUnion(stamps.map(\.id))
    }
    #expect(found.count == 30)
  }

  @Test("Containers beyond an answer are refused, and those of a smaller scope given")
  func containers() async throws {
    let service = try await service()
    let error = await #expect(throws: SyncServiceError.self) {
      try await service.containers(space: "s", user: ann, .everything)
    }
    #expect(error?.code == .answerTooLarge)
    let one = try await service.containers(space: "s", user: ann, SyncScope(container: "c/7"))
    #expect(one.map(\.container) == ["c/7"])
  }
}
