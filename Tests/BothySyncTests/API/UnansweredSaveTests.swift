import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Synchronization
import Testing

/// Online saves that throw because no answer came, although the server may have made them, and later changes of their
/// records.
@Suite("Changes after unanswered saves", .faultsStrike, .timeLimit(.minutes(5)))
struct UnansweredSaveTests {
  private static let later: [WritePolicy] = [.local, .localThenRemote, .remoteThenLocal, .remote]
  private static let faults: [FaultyRemote.Fault] = [.lostAnswer, .lostRequest]
  private static let policies: [MergePolicy] = [.remoteWins, .fieldByField, .localWins]

  /// Saves a value on the server alone, without an answer.
  private func fail(_ note: Note, _ pair: Pair, _ fault: FaultyRemote.Fault = .lostAnswer) async throws {
    pair.a.remote.plan(fault, on: .operations, times: 1)
    let error = await #expect(throws: BothyError.self) {
      try await pair.a.store.save(note, options: .saving(.remote))
    }
    #expect(error?.code == .unreachable)
    #expect(try pair.a.store.outboxEntries().isEmpty)
  }

  /// Returns A's T1.
  private func note(_ pair: Pair) throws -> Note { try #require(try pair.a.note()) }

  /// Runs a body for each merge policy and each fault, on a pair where a title was saved without an answer, in the same
  /// process and in the next.
  private func afterTitle(
    _ faults: [FaultyRemote.Fault] = faults, _ body: (Pair) async throws -> Void
  ) async throws {
    for policy in Self.policies {
      for fault in faults {
        for isRelaunched in [false, true] {
          let pair = try await Pair.sharing(policy: policy)
          var note = try note(pair)
          note.title = "two"
          try await fail(note, pair, fault)
          if isRelaunched { try pair.a.restart() }
          #expect(try pair.a.title() == "start")
          try await body(pair)
          #expect(try await pair.isEven(), "\(policy.name) \(fault) \(isRelaunched)")
          #expect(try pair.a.store.journal.entries(losing: true).isEmpty)
        }
      }
    }
  }

  /// Promises: A-41
  @Test("A later save of the field wins over the unanswered one", arguments: later)
  func update(save: WritePolicy) async throws {
    try await afterTitle { pair in
      var note = try note(pair)
      note.title = "three"
      try await pair.a.store.save(note, options: .saving(save))
      #expect(try await pair.isEven())
      #expect(try await pair.server("T1") == ["title": "three", "score": 0])
    }
  }

  /// Promises: A-41
  @Test("A later deletion isn't undone by the unanswered save", arguments: later)
  func deletion(save: WritePolicy) async throws {
    try await afterTitle { pair in
      try await pair.a.store.delete(.note(), options: .saving(save))
      #expect(try await pair.isEven())
      #expect(try await pair.server("T1") == nil)
    }
  }

  /// Promises: A-41
  @Test("A later save of an id replaces the unanswered insert", arguments: later)
  func insert(save: WritePolicy) async throws {
    for fault in Self.faults {
      let pair = try await Pair.sharing()
      try await fail(Note(id: "T9", "first"), pair, fault)
      try pair.a.restart()
      #expect(try pair.a.noteIDs() == ["T1"])
      try await pair.a.store.save(Note(id: "T9", "second"), options: .saving(save))
      #expect(try await pair.isEven())
      #expect(try await pair.serverTitle("T9") == "second")
      #expect(try pair.a.title("T9") == "second")
    }
  }

  /// Promises: A-41
  @Test("A save after an unanswered deletion keeps the record")
  func deleted() async throws {
    for fault in Self.faults {
      let pair = try await Pair.sharing()
      pair.a.remote.plan(fault, on: .operations, times: 1)
      await #expect(throws: BothyError.self) {
        try await pair.a.store.delete(.note(), options: .saving(.remote))
      }
      try pair.a.restart()
      #expect(try pair.a.title() == "start")
      try pair.a.retitle("kept")
      #expect(try await pair.isEven())
      #expect(try await pair.serverTitle() == "kept")
    }
  }

  /// Promises: A-2
  @Test("A count after an unanswered one counts both once", arguments: [false, true])
  func counted(isRelaunched: Bool) async throws {
    for fault in Self.faults {
      let pair = try await Pair.sharing()
      var note = try note(pair)
      note.score += 5
      try await fail(note, pair, fault)
      if isRelaunched {
        try pair.a.restart()
        note = try self.note(pair)
      }
      note.score += 2
      try await pair.a.store.save(note, options: .saving(.local))
      #expect(try await pair.isEven())
      #expect(try await pair.server("T1")?["score"] == 7)
    }
  }

  @Test(
    "A count that a busy server may have made counts once", arguments: [WritePolicy.remote, .remoteThenLocal])
  func busy(policy: WritePolicy) async throws {
    let world = try SimulatedWorld()
    let isBusy = Mutex(false)
    // The server loses its database after the commit.
    let remote = RewritingRemote(InProcessRemote(world.service)) { request, server throws(RemoteError) in
      let answer = try await server.exchange(request)
      if request.operations.isEmpty || !isBusy.withLock({ $0 }) { return answer }
      throw RemoteError(.throttled, "The database does not answer.", status: 503, retryAfter: 1)
    }
    let folder = try TemporaryFolder()
    let store = try SyncedStore(
      at: folder.path + "/busy.sqlite", schema: .notes, remote: remote, configuration: .quiet)
    try await store.save(Note(id: "T1", "start"))
    #expect(await store.sync().obstacle == nil)
    let saved = try await store.store.read { try $0.fetch(Note.self, id: "T1") }
    var note = try #require(saved)
    note.score += 5
    isBusy.withLock { $0 = true }
    let error = await #expect(throws: BothyError.self) { try await store.save(note, policy: policy) }
    #expect(error?.code == .throttled)
    isBusy.withLock { $0 = false }
    note.score += 2
    try await store.save(note, policy: .local)
    #expect(await store.sync().obstacle == nil)
    #expect(try await world.serverRecords()[.note()]?.fields.members()["score"] == 7)
  }

  @Test("A save is in doubt after a failed request and a refused part")
  func busyPart() async throws {
    let world = try SimulatedWorld()
    let isFailing = Mutex(true)
    let ids = Mutex<Set<String>>([])
    // The server fails after the commit of the whole request, and is too busy for the part with the child.
    let remote = RewritingRemote(InProcessRemote(world.service)) { request, server throws(RemoteError) in
      let sent = request.operations.filter { $0.record.id == "C" }.map(\.id)
      ids.withLock { $0.formUnion(sent) }
      guard !sent.isEmpty, isFailing.withLock({ $0 }) else { return try await server.exchange(request) }
      if request.operations.count == 1 {
        throw RemoteError(.throttled, "The server is busy.", status: 429, retryAfter: 1)
      }
      _ = try await server.exchange(request)
      throw RemoteError(.serverError, "The server failed.", status: 500)
    }
    let folder = try TemporaryFolder()
    let store = try SyncedStore(
      at: folder.path + "/part.sqlite", schema: .family, remote: remote, configuration: .quiet)
    #expect(await store.sync().obstacle == nil)
    try await store.save(AnyRecord.parent("P"), options: .saving(.local))
    let child = AnyRecord.child("C", of: "P")
    let error = await #expect(throws: BothyError.self) {
      try await store.save(child, options: .saving(.remote))
    }
    #expect(error?.code == .throttled)
    #expect(error?.message.contains("may have made the change of Child/C") == true)
    isFailing.withLock { $0 = false }
    try await store.save(child, options: .saving(.remote))
    #expect(await store.sync().obstacle == nil)
    #expect(try store.outboxEntries().isEmpty)
    #expect(ids.withLock { $0.count } == 1)
  }

  @Test("A save that stays unanswered is sent once more each time, under its id")
  func again() async throws {
    let pair = try await Pair.sharing()
    var note = try note(pair)
    note.title = "two"
    try await fail(note, pair, .lostRequest)
    try pair.a.restart()
    note = try self.note(pair)
    note.title = "three"
    try await fail(note, pair, .lostAnswer)
    #expect(try pair.a.title() == "start")
    try pair.a.restart()
    try pair.a.retitle("four")
    #expect(try await pair.isEven())
    #expect(try await pair.serverTitle() == "four")
    let ids = pair.a.operations.filter { $0.fields["title"] == "two" }.map(\.id)
    #expect(ids.count > 1 && Set(ids).count == 1)
  }

  @Test("No sync sends an unanswered save that nothing follows")
  func alone() async throws {
    let pair = try await Pair.sharing()
    var note = try note(pair)
    note.title = "two"
    try await fail(note, pair, .lostRequest)
    try pair.a.restart()
    pair.a.remote.forgetRequests()
    #expect(try await pair.isEven())
    #expect(pair.a.operations.isEmpty)
    #expect(try await pair.serverTitle() == "start")
  }

  /// The value was read before the save, which a pull shows.
  @Test("An unanswered save that a pull shows counts as this device's")
  func pulled() async throws {
    for policy in Self.policies {
      let pair = try await Pair.sharing(policy: policy)
      var copy = try note(pair)
      var note = copy
      note.title = "two"
      try await fail(note, pair)
      await pair.a.store.sync()
      #expect(try pair.a.title() == "two")
      note.title = "three"
      try await pair.a.store.save(note, options: .saving(.local))
      copy.note = "copy"
      try await pair.a.store.save(copy, options: .saving(.local))
      #expect(try await pair.isEven())
      #expect(try await pair.server("T1") == ["title": "three", "note": "copy", "score": 0])
      #expect(try pair.a.store.journal.entries(losing: true).isEmpty)
    }
  }

  @Test("A purge forgets an unanswered save, and the next pull brings its result")
  func purged() async throws {
    let pair = try await Pair.sharing()
    var note = try note(pair)
    note.title = "two"
    try await fail(note, pair)
    try pair.a.store.purge([.note()], includingPending: false)
    await pair.a.store.sync()
    #expect(try pair.a.title() == "two")
    try pair.a.retitle("three")
    #expect(try await pair.isEven())
    #expect(try await pair.serverTitle() == "three")
  }
}
