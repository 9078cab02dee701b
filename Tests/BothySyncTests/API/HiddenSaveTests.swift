import BothyStore
import BothySync
import BothyTesting
import Testing

/// Network-first saves as entries of the outbox that readers don't see yet.
@Suite("Online saves in the outbox", .faultsStrike, .timeLimit(.minutes(5)))
struct HiddenSaveTests {
  private static let online: [WritePolicy] = [.remoteThenLocal, .remote]

  private func edited(_ pair: Pair, _ change: (inout Note) -> Void) throws -> Note {
    var note = try #require(try pair.a.note())
    change(&note)
    return note
  }

  /// The record on the device while its save is in flight.
  private struct Sight: Equatable {
    var title: String?
    var isPending: Bool
  }

  private func whileSent(
    _ pair: Pair, _ body: @escaping @Sendable (SyncedStore) async throws -> Void
  ) async throws -> Sight {
    let (request, store) = (HeldRequest(of: pair.a), pair.a.store)
    let task = Task { try await body(store) }
    await request.waitUntilSent()
    let sight = Sight(title: try pair.a.title(), isPending: try pair.a.isPending())
    request.release()
    try await task.value
    return sight
  }

  @Test("Readers see the old record until the server has responded", arguments: online)
  func unseen(policy: WritePolicy) async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    let note = try edited(pair) { $0.title = "mine" }
    let before = try await whileSent(pair) { try await $0.save(note, options: .saving(policy)) }
    #expect(before == Sight(title: "start", isPending: true))
    #expect(try pair.a.title() == (policy == .remote ? "start" : "mine"))
    let insert = try await whileSent(pair) {
      try await $0.save(Note(id: "T2", "new"), options: .saving(policy))
    }
    let now = try pair.a.title()
    #expect(insert.title == now)
    #expect(try pair.a.store.outboxEntries().isEmpty)
    #expect(try pair.a.store.diagnose().isHealthy)
    #expect(try await pair.isEven())
    #expect(try await pair.serverTitle("T2") == "new")
  }

  @Test("A process that ends during an online save neither loses nor repeats it")
  func killed() async throws {
    for change in ["save", "insert", "delete"] {
      for isAnswered in [true, false] {
        for step in 1... {
          let pair = try await Pair.sharing(policy: .fieldByField)
          let (note, store) = (try edited(pair) { ($0.title, $0.score) = ("mine", 10) }, pair.a.store)
          pair.a.remote.cut = isAnswered ? .none : .inbound
          pair.a.failPoints.crash(at: step)
          let result: Result<SaveReceipt<AnyRecord>, any Error>
          do {
            switch change {
            case "save":
              result = .success(try await store.save(note, options: .saving(.remoteThenLocal)).untyped)
            case "insert":
              let made = Note(id: "T2", "new")
              result = .success(try await store.save(made, options: .saving(.remoteThenLocal)).untyped)
            default: result = .success(try await store.delete(.note(), options: .saving(.remoteThenLocal)))
            }
          } catch { result = .failure(error) }
          let hasCrashed = pair.a.failPoints.hasCrashed
          pair.a.remote.cut = .none
          try pair.a.restart()
          #expect(try pair.a.store.diagnose().isHealthy, "\(change), step \(step)")
          #expect(try await pair.isEven(), "\(change), step \(step)")
          let server = try await pair.server("T1")
          switch change {
          case "save": #expect([0, 10].contains(server?["score"]?.intValue), "step \(step)")
          case "insert": #expect(server?["title"] == "start")
          default: break
          }
          if case .success = result {
            switch change {
            case "save": #expect(server == ["title": "mine", "score": 10])
            case "insert": #expect(try await pair.serverTitle("T2") == "new")
            default: #expect(server == nil)
            }
          }
          #expect(try pair.a.store.outboxEntries().isEmpty)
          if !hasCrashed { break }
        }
      }
    }
  }

  @Test("A rejected save stays pending with an edit on top of it", arguments: online)
  func refusedBesideEdit(policy: WritePolicy) async throws {
    let pair = try await Pair.sharing(rules: .withoutNotes)
    OnlineMeanwhileTests.meanwhile(pair.a) { store in
      try await store.store.write {
        _ = try $0.update(Note.self, id: "T1") { ($0.title, $0.score) = ("later", 7) }
      }
    }
    let note = try edited(pair) { $0.note = "refused" }
    let error = await #expect(throws: BothyError.self) {
      try await pair.a.store.save(note, options: .saving(policy))
    }
    #expect(error?.code == .rejected && error?.rejection?.fields.map(\.field) == ["note"])
    #expect(error?.message.hasSuffix("The change waits with the rejected ones.") == true)
    #expect(try pair.a.store.rejectedEntries().map(\.id) == [.note()])
    #expect(try pair.a.note()?.note == "refused")
    try pair.a.edit { $0.note = nil }
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "later", "score": 7])
  }

  @Test("A save without a queue stays with an edit on top of it")
  func unreachableBesideEdit() async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    pair.a.remote.plan(.lostRequest, on: .operations, times: 1)
    OnlineMeanwhileTests.meanwhile(pair.a) { store in
      try await store.store.write { _ = try $0.update(Note.self, id: "T1") { $0.score += 7 } }
    }
    let note = try edited(pair) { ($0.title, $0.score) = ("mine", 100) }
    let receipt = try await pair.a.store.save(note, options: .saving(.remote))
    #expect(receipt.known == .pending)
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "mine", "score": 107])
    if case .accepted = try await receipt.outcome() {} else { Issue.record("\(try await receipt.outcome())") }
  }

  @Test("A save that is never queued restores no old row when retried offline")
  func offlineTwice() async throws {
    for isNew in [false, true] {
      let pair = try await Pair.sharing(isNew ? [] : ["T1"], policy: .fieldByField)
      let note = isNew ? Note(id: "T1", "mine") : try edited(pair) { $0.title = "mine" }
      pair.a.remote.plan(isNew ? .lostAnswer : .lostRequest, on: .operations, times: 1)
      await #expect(throws: BothyError.self) {
        try await pair.a.store.save(note, options: .saving(.remote))
      }
      await pair.b.store.sync()
      if isNew { try pair.b.edit { $0.title = "theirs" } } else { try pair.b.retitle("theirs") }
      await pair.b.store.sync()
      await pair.a.store.sync()
      #expect(try pair.a.title() == "theirs")
      pair.a.remote.isOffline = true
      await #expect(throws: BothyError.self) {
        try await pair.a.store.save(note, options: .saving(.remote))
      }
      #expect(try pair.a.title() == "theirs")
      #expect(try pair.a.store.outboxEntries().isEmpty)
      pair.a.remote.isOffline = false
      #expect(try await pair.isEven())
    }
  }

  @Test("Sharing beside an online save in flight is kept, whatever the verdict")
  func sharing() async throws {
    let pair = try await Pair.sharing(rules: .withoutNotes)
    OnlineMeanwhileTests.meanwhile(pair.a) { store in
      try await store.sharing.share(.note(), with: .users("bob"))
    }
    let note = try edited(pair) { $0.note = "refused" }
    await #expect(throws: BothyError.self) {
      try await pair.a.store.save(note, options: .saving(.remoteThenLocal))
    }
    try pair.a.edit { $0.note = nil }
    #expect(try await pair.isEven())
    #expect(try await pair.world.serverRecords()[.note()]?.sharing == .users("bob"))
  }

  @Test("An unanswered save beside a draft is pending, and its receipt has the verdict")
  func besideDraft() async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    pair.a.remote.plan(.lostAnswer, on: .operations, times: 1)
    OnlineMeanwhileTests.meanwhile(pair.a) {
      try await $0.writeDraft { _ = try $0.update(Note.self, id: "T1") { $0.note = "not yet" } }
    }
    let note = try edited(pair) { $0.title = "mine" }
    let receipt = try await pair.a.store.save(note, options: .saving(.remoteThenLocal))
    #expect(receipt.known == .pending)
    await pair.a.store.sync()
    if case .accepted = try await receipt.outcome() {} else { Issue.record("\(try await receipt.outcome())") }
    #expect(try await pair.server("T1") == ["title": "mine", "score": 0])
    #expect(try pair.a.store.state(of: .note()) == .draft)
    try pair.a.store.release(.note())
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "mine", "note": "not yet", "score": 0])
  }

  @Test("An online save without a response waits with its reason if rejected later")
  func refusedLater() async throws {
    let pair = try await Pair.sharing(rules: .withoutNotes)
    pair.a.remote.plan(.lostRequest, on: .operations, times: 1)
    let note = try edited(pair) { $0.note = "refused" }
    let receipt = try await pair.a.store.save(note, options: .saving(.remoteThenLocal))
    #expect(receipt.known == .pending)
    #expect(await pair.a.store.sync().rejected.map(\.record) == [.note()])
    #expect(try pair.a.store.rejectedEntries().map(\.id) == [.note()])
    #expect(try pair.a.note()?.note == "refused")
    if case .rejected = try await receipt.outcome() {} else { Issue.record("\(try await receipt.outcome())") }
  }

  @Test("An online save that the server turned away isn't repeated by a later one", arguments: online)
  func turnedAway(policy: WritePolicy) async throws {
    for status in [401, 429] {
      let pair = try await Pair.sharing(policy: .fieldByField)
      pair.a.remote.plan(.status(status, retryAfter: nil), on: .operations, times: 1)
      let first = try edited(pair) { $0.title = "given up" }
      await #expect(throws: BothyError.self) { try await pair.a.store.save(first, options: .saving(policy)) }
      #expect(try pair.a.store.outboxEntries().isEmpty)
      let second = try edited(pair) { $0.note = "mine" }
      try await pair.a.store.save(second, options: .saving(policy))
      #expect(try await pair.isEven())
      #expect(try await pair.server("T1") == ["title": "start", "note": "mine", "score": 0])
    }
  }

  @Test("An online save with a server error is in doubt, and is made once", arguments: online)
  func failedInside(policy: WritePolicy) async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    pair.a.remote.plan(.status(500, retryAfter: nil), on: .operations, times: 1)
    var note = try edited(pair) { $0.score = 5 }
    let error = await #expect(throws: BothyError.self) {
      try await pair.a.store.save(note, options: .saving(policy))
    }
    #expect(error?.code == .serverError)
    #expect(try pair.a.store.outboxEntries().isEmpty)
    note.title = "later"
    try await pair.a.store.save(note, options: .saving(policy))
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "later", "score": 5])
  }

  @Test("Two online saves of a record at once are both made", arguments: online)
  func atOnce(policy: WritePolicy) async throws {
    for isRefused in [false, true] {
      let pair = try await Pair.sharing(rules: .withoutNotes, policy: .fieldByField)
      let (request, store) = (HeldRequest(of: pair.a), pair.a.store)
      let first = try edited(pair) { if isRefused { $0.note = "refused" } else { $0.title = "mine" } }
      let second = try edited(pair) { $0.score += 5 }
      let one = Task { try await store.save(first, options: .saving(policy)) }
      await request.waitUntilSent()
      let two = Task { try await store.save(second, options: .saving(policy)) }
      request.release()
      let (a, b) = (await one.result, await two.result)
      #expect(throws: Never.self) { try b.get() }
      if isRefused { #expect(throws: BothyError.self) { try a.get() } }
      #expect(try await pair.isEven())
      #expect(try await pair.server("T1") == ["title": isRefused ? "start" : "mine", "score": 5])
      #expect(try pair.a.store.outboxEntries().isEmpty)
    }
  }

  @Test("A save after an interrupted one settles that first", arguments: online)
  func afterCutOff(policy: WritePolicy) async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    let (points, store) = (pair.a.failPoints, pair.a.store)
    OnlineMeanwhileTests.meanwhile(pair.a) { _ in points.crash(at: 1) }
    let first = try edited(pair) { $0.score = 5 }
    _ = try? await store.save(first, options: .saving(policy))
    try pair.a.restart()
    let second = try edited(pair) { ($0.title, $0.score) = ("mine", $0.score + 10) }
    try await pair.a.store.save(second, options: .saving(policy))
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "mine", "score": 15])
  }

  @Test("A full purge includes a new record whose save was interrupted")
  func purged() async throws {
    let pair = try await Pair.sharing([])
    let points = pair.a.failPoints
    OnlineMeanwhileTests.meanwhile(pair.a) { _ in points.crash(at: 1) }
    let store = pair.a.store
    pair.a.remote.plan(.lostRequest, on: .operations, times: 1)
    _ = try? await store.save(Note(id: "T1", "mine"), options: .saving(.remoteThenLocal))
    try pair.a.restart()
    #expect(try pair.a.store.outboxEntries().count == 1)
    try await pair.a.store.maintenance.reset(discardingPending: true)
    #expect(try pair.a.store.outboxEntries().isEmpty)
    #expect(try await pair.isEven())
    #expect(try await pair.world.serverRecords().isEmpty)
  }

  @Test("The journal reports a save that the next launch settles")
  func reported() async throws {
    let pair = try await Pair.sharing(rules: .withoutNotes, policy: .fieldByField)
    let note = try edited(pair) { $0.note = "refused" }
    pair.a.remote.plan(.lostRequest, on: .operations, times: 1)
    let store = pair.a.store
    let points = pair.a.failPoints
    OnlineMeanwhileTests.meanwhile(pair.a) { _ in points.crash(at: 1) }
    _ = try? await store.save(note, options: .saving(.remoteThenLocal))
    try pair.a.restart()
    #expect(try pair.a.note()?.note == nil)
    #expect(try pair.a.store.outboxEntries().count == 1)
    await pair.a.store.sync()
    #expect(try pair.a.store.outboxEntries().isEmpty)
    let entry = try #require(try pair.a.store.journal.entries(losing: true).last)
    #expect(entry.cause == .online)
    if case .rejected = entry.outcome {} else { Issue.record("\(entry.outcome)") }
    #expect(entry.lostFields.map(\.name) == ["note"])
    #expect(try await pair.isEven())
  }
}
