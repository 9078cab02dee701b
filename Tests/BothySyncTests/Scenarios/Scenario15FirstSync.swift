import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Synchronization
import Testing

/// A first sync of many pages that is interrupted after each of them while other devices write.
@Suite("Interrupted first syncs", .faultsStrike, .timeLimit(.minutes(5)))
struct Scenario15FirstSync {
  private static let noteCount = 23
  private static let pairs = 4

  /// Changes the pairs of records that always change together. Their titles are equal in every state of the server.
  private static func retitlePairs(_ store: LocalStore, _ title: String) throws {
    try store.write { transaction in
      for number in 0..<pairs {
        for side in ["left", "right"] {
          _ = try transaction.update(Note.self, id: "\(side)\(number)") { $0.title = title }
        }
      }
    }
  }

  /// Promises: Scenario-15, H-20
  @Test(
    "A first sync interrupted at each page continues, without gaps and torn states",
    arguments: [5])
  func interrupted(pageSize: Int) async throws {
    let pageCount = (Self.noteCount + 2 * Self.pairs) / pageSize + 1
    for lost in 1...pageCount + 1 {
      for answerIsLost in [false, true] {
        let pair = try Pair { $0.pageSize = pageSize }
        try pair.b.change { transaction in
          for number in 0..<Self.noteCount { try transaction.insert(Note(id: "N\(100 + number)", "n")) }
          for number in 0..<Self.pairs {
            for side in ["left", "right"] { try transaction.insert(Note(id: "\(side)\(number)", "0")) }
          }
        }
        await pair.b.store.sync()
        try await fill(pair, losing: lost, answerIsLost: answerIsLost)
      }
    }
  }

  private func fill(_ pair: Pair, losing lost: Int, answerIsLost: Bool) async throws {
    let torn = Mutex<[String]>([])
    let round = Calls()
    let (here, writer) = (pair.a.store.store, pair.b.store)
    let calls = Calls()
    pair.a.remote.plan { calls.add() == lost ? (answerIsLost ? .lostAnswer : .lostRequest) : .none }
    func observe() {
      pair.a.remote.setDuringExchange { [store = pair.a.store.store] in
        do {
          // Other devices keep writing: changed, deleted and new records between any two pages.
          let number = round.add()
          guard number <= 8 else { return }
          try Self.retitlePairs(writer.store, "\(number)")
          try await writer.save(
            Note(id: "new\(number)", "n"), options: RequestOptions(writePolicy: .local))
          try await writer.delete(
            RecordID(type: "Note", id: "N\(100 + number)"), options: RequestOptions(writePolicy: .local))
          await writer.sync(.push)
          if let problem = try await Self.problem(store) { torn.withLock { $0.append(problem) } }
        } catch { Issue.record(error) }
      }
    }
    _ = here
    observe()
    let first = await pair.a.store.sync()
    if first.obstacle != nil {
      // No record of the incomplete pull is visible, and the process loses none of them.
      #expect(try pair.a.noteIDs().isEmpty)
      try pair.a.restart()
      observe()
      pair.a.remote.forgetRequests()
      #expect(await pair.a.store.sync().obstacle == nil)
      if lost > 1 { #expect(pair.a.remote.requests.first?.pulls.first?.cursor != nil) }
    }
    #expect(torn.withLock { $0 } == [])
    #expect(try await Self.problem(pair.a.store.store) == nil)
    pair.a.remote.setDuringExchange {}
    #expect(try await pair.isEven(), "lost \(lost), answer \(answerIsLost)")
    #expect(try await pair.a.store.maintenance.repairs().map(\.isEqual) == [true])
  }

  /// Returns a state that the server never had: half of a pull, or half of a transaction.
  private static func problem(_ store: LocalStore) async throws -> String? {
    try await store.read { transaction in
      let notes = try transaction.fetch(RecordQuery<Note>())
      if notes.isEmpty { return nil }
      let titles = Set(notes.filter { $0.id.hasPrefix("left") || $0.id.hasPrefix("right") }.map(\.title))
      let paired = notes.count { $0.id.hasPrefix("left") || $0.id.hasPrefix("right") }
      return titles.count == 1 && paired == 2 * pairs
        ? nil : "\(paired) of the pairs, titled \(titles.sorted())"
    }
  }
}
