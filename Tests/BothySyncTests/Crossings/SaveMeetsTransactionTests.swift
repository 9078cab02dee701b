import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// Awaited saves of one record of a transaction that another user has made since.
@Suite("An awaited save that meets another's transaction", .faultsStrike, .timeLimit(.minutes(5)))
struct SaveMeetsTransactionTests {
  private static let policies: [MergePolicy] = [.remoteWins, .fieldByField, .localWins]
  static let online: [WritePolicy] = [.remoteThenLocal, .localThenRemote]

  /// Returns a pair whose B has changed both notes together, and others beside them.
  private func pair(_ policy: MergePolicy, pageSize: Int) async throws -> Pair {
    let pair = try await Pair.sharing(["T1", "T2"], policy: policy) { $0.pageSize = pageSize }
    try pair.b.insert("T3", "before")
    await pair.b.store.sync()
    try retitleBoth(pair.b)
    await pair.b.store.sync()
    try pair.b.insert("T4", "after")
    await pair.b.store.sync()
    return pair
  }

  private func retitleBoth(_ device: SimulatedDevice) throws {
    try device.change { transaction in
      for id in ["T1", "T2"] { _ = try transaction.update(Note.self, id: id) { $0.title = "theirs" } }
    }
  }

  private static func expectWhole(_ store: SyncedStore, _ place: Comment) {
    do {
      let titles = try ["T1", "T2"].map { try store.store.fetch(Note.self, id: $0)?.title }
      #expect(titles[0] == titles[1], place)
    } catch { Issue.record(error, place) }
  }

  @Test("No reader sees a part of the transaction", arguments: policies, [1, 100])
  func whole(policy: MergePolicy, pageSize: Int) async throws {
    for save in Self.online {
      let pair = try await pair(policy, pageSize: pageSize)
      let (device, store, calls) = (pair.a, pair.a.store, Calls())
      device.remote.setBeforeSending { _ in
        // A pending edit is shown as it was made. Further pages of a pull follow a save that was accepted.
        guard calls.add() > 0, save == .remoteThenLocal, pageSize > 1 else { return }
        Self.expectWhole(store, "\(save), before request \(calls.count)")
      }
      var note = try #require(try device.note())
      note.note = "online"
      _ = try await device.store.save(note, options: .saving(save)).result()
      if policy.name == "localWins" && save == .localThenRemote { continue }
      Self.expectWhole(store, "\(save), after it")
      #expect(try await pair.isEven())
      #expect(try await pair.serverTitle() == "theirs")
      let isKept = policy.name != "remoteWins" || save == .remoteThenLocal
      #expect(try await pair.server("T1")?["note"] == (isKept ? "online" : nil))
    }
  }

  @Test("A policy of the app's own is asked once for a conflict", arguments: online, [1, 100])
  func askedOnce(save: WritePolicy, pageSize: Int) async throws {
    let asked = Calls()
    let pair = try await pair(.counting(asked, .client), pageSize: pageSize)
    var note = try #require(try pair.a.note())
    note.title = "online"
    let receipt = try await pair.a.store.save(note, options: .saving(save))
    _ = try await receipt.result()
    #expect(asked.count == 1)
    // A hidden save shows nothing of others. A pending one is sent again with the first page, and after the last.
    let isHidden = save == .remoteThenLocal
    #expect(pair.a.operations.count == (isHidden ? 2 : pageSize == 1 ? 4 : 3))
    #expect(try pair.a.title("T2") == (isHidden ? "start" : "theirs"))
    #expect(try await pair.isEven())
    #expect(try await pair.serverTitle() == "online")
  }

  @Test("A save that gives way shows nothing before the pull is answered", arguments: online)
  func cutOff(save: WritePolicy) async throws {
    let pair = try await pair(.remoteWins, pageSize: 100)
    pair.a.loseConnection(after: 1)
    var note = try #require(try pair.a.note())
    note.title = "online"
    _ = try? await pair.a.store.save(note, options: .saving(save)).result()
    #expect(try pair.a.title("T2") == "start")
    #expect(try pair.a.title("T1") != "theirs")
    pair.a.remote.setScript { .none }
    #expect(try await pair.isEven())
    #expect(try await pair.serverTitle() == "theirs")
  }

  @Test("Another transaction in doubt doesn't keep the save from its end", arguments: online)
  func besideDoubt(save: WritePolicy) async throws {
    for policy in Self.policies {
      let pair = try await Pair.sharing(["T1", "T2", "T5", "T6"], policy: policy)
      pair.a.remote.plan(.lostAnswer, on: .operation(on: "T5"), times: 1)
      try await pair.a.store.write(.atomic) { transaction in
        for id in ["T5", "T6"] { _ = try transaction.update(Note.self, id: id) { $0.title = "mine" } }
      }
      await pair.a.store.sync(.push)
      try retitleBoth(pair.b)
      try pair.b.edit("T5") { $0.note = "theirs" }
      await pair.b.store.sync()
      var note = try #require(try pair.a.note())
      note.note = "online"
      _ = try await pair.a.store.save(note, options: .saving(save)).result()
      #expect(try await pair.isEven(), "\(policy.name)")
    }
  }

  @Test("A record that others moved with another is shown with it")
  func moved() async throws {
    for policy in Self.policies {
      let pair = try await Pair.sharing(["T1", "T2"], policy: policy)
      try pair.b.change { transaction in
        for id in ["T1", "T2"] { _ = try transaction.move(.note(id), to: "Note/archive") }
      }
      await pair.b.store.sync()
      var note = try #require(try pair.a.note())
      note.note = "online"
      _ = try await pair.a.store.save(note, options: .saving(.localThenRemote)).result()
      let containers = try ["T1", "T2"].map { try pair.a.record("Note", $0)?.container }
      #expect(containers[0] == containers[1], "\(policy.name)")
      #expect(try await pair.isEven(), "\(policy.name)")
    }
  }
}
