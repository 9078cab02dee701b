import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// Network-first saves of records that have pending work, or receive some meanwhile.
@Suite("Online saves beside pending work", .faultsStrike, .timeLimit(.minutes(5)))
struct PendingOnlineSaveTests {
  private static let online: [WritePolicy] = [.remoteThenLocal, .localThenRemote]

  /// The state in which an earlier edit of the record was left.
  enum Earlier: CaseIterable, Sendable { case none, pending, offlineSync, offlineSave, lostAnswer }

  /// Adds one to the score, as `earlier` says.
  private func leave(_ earlier: Earlier, _ pair: Pair) async throws {
    var note = try #require(try pair.a.note())
    note.score += 1
    switch earlier {
    case .none: return
    case .pending: try await pair.a.store.save(note)
    case .offlineSync:
      try await pair.a.store.save(note)
      pair.a.remote.isOffline = true
      await pair.a.store.sync()
    case .offlineSave:
      pair.a.remote.isOffline = true
      try await pair.a.store.save(note, options: .saving(.remoteThenLocal))
    case .lostAnswer:
      pair.a.remote.plan(.lostAnswer, times: 1)
      try await pair.a.store.save(note, options: .saving(.remoteThenLocal))
    }
    pair.a.remote.isOffline = false
  }

  /// Promises: H-61, S-35
  @Test("A save after an earlier one reverts no change of others", arguments: Earlier.allCases)
  func others(earlier: Earlier) async throws {
    for policy in Self.online {
      let pair = try await Pair.sharing(policy: .fieldByField)
      try await leave(earlier, pair)
      await pair.b.store.sync()
      try pair.b.edit {
        $0.score += 10; $0.note = "theirs"; $0.title = "theirs"
      }
      await pair.b.store.sync()
      var note = try #require(try pair.a.note())
      note.score += 100
      let receipt = try await pair.a.store.save(note, options: .saving(policy))
      #expect(try await pair.isEven())
      let score = JSONValue.int(earlier == .none ? 110 : 111)
      #expect(try await pair.server("T1") == ["title": "theirs", "note": "theirs", "score": score])
      if case .rejected = try await receipt.outcome() { Issue.record("refused what is on the server") }
    }
  }

  @Test("An edit made during a save stays", arguments: Earlier.allCases)
  func meanwhile(earlier: Earlier) async throws {
    for isBefore in [true, false] {
      for hasOthers in [true, false] {
        let pair = try await Pair.sharing(policy: .fieldByField)
        try await leave(earlier, pair)
        if hasOthers {
          await pair.b.store.sync()
          try pair.b.edit {
            $0.score += 10; $0.title = "theirs"
          }
          await pair.b.store.sync()
        }
        let (calls, a, store) = (Calls(), pair.a, pair.a.store.store)
        let edit: @Sendable () -> Void = {
          guard calls.add() == 1 else { return }
          do {
            try store.write {
              _ = try $0.update(Note.self, id: "T1") {
                $0.score += 1000; $0.note = "meanwhile"
              }
            }
          } catch { Issue.record(error) }
        }
        if isBefore {
          a.remote.setBeforeSending { _ in edit() }
        } else {
          a.remote.setDuringExchange { edit() }
        }
        var note = try #require(try a.note())
        note.score += 100
        try await a.store.save(note, options: .saving(.remoteThenLocal))
        #expect(try a.note()?.note == "meanwhile")
        #expect(try await pair.isEven())
        let score = JSONValue.int((earlier == .none ? 1100 : 1101) + (hasOthers ? 10 : 0))
        let title = hasOthers ? "theirs" : "start"
        #expect(
          try await pair.server("T1") == ["title": .string(title), "note": "meanwhile", "score": score])
      }
    }
  }

  @Test("A deletion beside pending work yields to an edit unseen by this device")
  func deletion() async throws {
    for earlier in Earlier.allCases {
      let pair = try await Pair.sharing(policy: .fieldByField)
      try await leave(earlier, pair)
      await pair.b.store.sync()
      try pair.b.edit { $0.note = "theirs" }
      await pair.b.store.sync()
      let receipt = try await pair.a.store.delete(.note(), options: .saving(.remoteThenLocal))
      #expect(try await pair.isEven())
      #expect(try await pair.server("T1")?["note"] == "theirs")
      if case .accepted = try await receipt.outcome() { Issue.record("accepted a deletion that was undone") }
    }
  }

  @Test("A record of a transaction that gives way isn't sent alone")
  func group() async throws {
    for policy in [MergePolicy.remoteWins, .fieldByField] {
      let pair = try await Pair.sharing(["T1", "T2"], policy: policy)
      try await pair.a.store.write(.atomic) { transaction in
        _ = try transaction.update(Note.self, id: "T1") { $0.title = "minus" }
        _ = try transaction.update(Note.self, id: "T2") { $0.title = "plus" }
      }
      try pair.b.retitle("T2", "theirs")
      await pair.b.store.sync()
      var note = try #require(try pair.a.note("T1"))
      note.note = "checked"
      _ = try? await pair.a.store.save(note, options: .saving(.remoteThenLocal))
      #expect(try await pair.isEven())
      #expect(try await pair.serverTitle("T1") == "start")
      #expect(try await pair.serverTitle("T2") == "theirs")
    }
  }

  @Test("A save of a draft sends nothing of it", arguments: online)
  func draft(policy: WritePolicy) async throws {
    let pair = try await Pair.sharing()
    try await pair.a.store.writeDraft { _ = try $0.update(Note.self, id: "T1") { $0.title = "not yet" } }
    var note = try #require(try pair.a.note())
    note.note = "also"
    let receipt = try await pair.a.store.save(note, options: .saving(policy))
    await pair.a.store.sync()
    #expect(receipt.state == .draft)
    #expect(pair.a.operations.isEmpty)
    #expect(try await pair.server("T1") == ["title": "start", "score": 0])
    #expect(try pair.a.note()?.note == "also")
  }

  @Test("A save on a pending insert is rejected and waits with its reason")
  func refused() async throws {
    let pair = try await Pair.sharing([], rules: .withoutNotes)
    try pair.a.insert("T1", "mine")
    var note = try #require(try pair.a.note())
    note.note = "refused"
    let error = await #expect(throws: BothyError.self) {
      try await pair.a.store.save(note, options: .saving(.remoteThenLocal))
    }
    #expect(error?.code == .rejected)
    #expect(try pair.a.store.rejectedEntries().map(\.id) == [.note()])
    #expect(try pair.a.note()?.note == "refused")
  }
}
