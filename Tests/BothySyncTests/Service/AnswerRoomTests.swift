import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Foundation
import Synchronization
import Testing

/// What the memory that all answers of a server share means for one of them.
@Suite("The shared memory of answers", .timeLimit(.minutes(5)))
struct AnswerRoomTests {
  private static let count = 300
  private let ann = Caller("ann")
  private let service: SyncService

  /// Makes 300 records of a little over a thousand bytes.
  init() async throws {
    let storage = try SQLiteServerStorage()
    let text = String(repeating: "x", count: 1000)
    try await storage.write(space: "s") { transaction in
      try transaction.put(
        (1...Self.count).map { number in
          let record = ServerRecord(
            id: .note("n\(number)"), container: "c", version: String(number), modified: 1,
            fields: FieldsDocument(["title": .string(text)]))
          return StoredRecord(position: Int64(number), record: record)
        })
    }
    service = SyncService(storage: storage, now: { 1000 })
  }

  private func bytes(_ records: [ServerRecord]) -> Int {
    records.reduce(0) { $0 + $1.fields.bytes.count }
  }

  private func page(_ service: SyncService, after cursor: String? = nil) async throws -> SyncResponse.Page {
    let request = SyncRequest(device: "d", pulls: [.init(.everything, cursor: cursor)])
    return try #require(try await service.sync(space: "s", user: ann, request).pages.first)
  }

  @Test("Without room for more an answer is short, and the next one continues")
  func noRoom() async throws {
    let full = service.answering { _, _ in 0 }
    let least = SyncService.answerStart
    var (found, cursor): ([RecordID], String?) = ([], nil)
    for _ in 0..<Self.count {
      let page = try await page(full, after: cursor)
      #expect(bytes(page.changes) < least + 2000)
      found += page.changes.map(\.id)
      cursor = page.cursor
      guard page.more else { break }
    }
    #expect(found.count == Self.count && Set(found).count == Self.count)
    let query = try await full.queryPage(space: "s", user: ann, AnyQuery("Note", order: [SortKey("id")]))
    #expect(bytes(query.records) < least + 2000 && query.next != nil)
    let feed = try await full.feed(space: "s", after: nil)
    #expect(bytes(feed.changes.compactMap(\.record)) < least + 2000 && feed.more)
    let operations = (1...Self.count).map {
      SyncOperation(id: "o\($0)", kind: .update, record: .note("n\($0)"), base: "no", fields: ["a": 1])
    }
    let answer = try await full.sync(
      space: "s", user: ann, SyncRequest(device: "d", operations: operations))
    let conflicts = answer.outcomes.compactMap { outcome in
      if case .conflict(let current) = outcome.verdict { current } else { nil }
    }
    #expect(bytes(conflicts) < least + 2000 && !conflicts.isEmpty)
  }

  @Test("A long answer takes its room in steps, each before its records are read")
  func steps() async throws {
    let wanted = Mutex<[Int]>([])
    let roomy = service.answering { bytes, _ in
      wanted.withLock { $0.append(bytes) }
      return bytes
    }
    let page = try await page(roomy)
    #expect(page.changes.count == Self.count && !page.more)
    let sizes = wanted.withLock { $0 }
    #expect(sizes.first == 7 * SyncService.answerStart, "\(sizes)")
    #expect(sizes.allSatisfy { $0 < service.rules.answerSize }, "\(sizes)")
    #expect(try await roomy.feed(space: "s", after: nil).changes.count == Self.count)
    wanted.withLock { $0 = [] }
    let end = try await self.page(roomy, after: page.cursor)
    #expect(end.changes.isEmpty && wanted.withLock { $0.isEmpty }, "an answer without news takes nothing")
  }

  @Test("Room that comes bit by bit fills a page of the feed without gaps")
  func feed() async throws {
    let given = Mutex(0)
    let slow = service.answering { bytes, _ in
      given.withLock { given in
        given = min(bytes, given + 20_000)
        return given
      }
    }
    let page = try await slow.feed(space: "s", after: nil)
    #expect(page.changes.map(\.position) == Array(1...Int64(page.changes.count)))
    #expect(page.changes.last?.position == page.upTo)
    let whole = try await service.feed(space: "s", after: page.cursor)
    #expect(page.changes.count + whole.changes.count == Self.count)
  }
}
