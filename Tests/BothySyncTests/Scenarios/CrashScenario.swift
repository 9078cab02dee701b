import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// Processes that end at every step of their storage: of a write, a push, a pull, and of applying a response.
@Suite("The end of a process, anywhere", .timeLimit(.minutes(15)))
struct CrashScenario {
  /// The results that the story's completed writes promise.
  private struct Promises {
    var titles: [String: String] = [:]
    var deleted: Set<String> = []
    /// The write that was running when the process ended. It is complete or absent.
    var open: String?
  }

  /// A world in which A and the server share T1 to T4, and B has changed some of it.
  private func world() async throws -> Pair {
    let pair = try await Pair.sharing(["T1", "T2", "T3", "T4"], policy: .fieldByField) {
      $0.batchSize = 2
      $0.pageSize = 2
    }
    try pair.b.edit("T1") { $0.note = "B's" }
    try pair.b.edit("T4") { $0.own[1] = 7 }
    try pair.b.insert("B1", "of B")
    try pair.b.insert("B2", "of B")
    await pair.b.store.sync()
    pair.a.failPoints.reset()
    return pair
  }

  /// Runs A's day: an edit, an insert, a deletion, a sync, one more edit, a sync.
  ///
  /// Stops at the first failure, like a process.
  private func live(_ a: SimulatedDevice, _ promises: inout Promises) async {
    let steps: [(String, (SimulatedDevice) throws -> Void)] = [
      ("T1", { try $0.retitle("T1", "A's") }), ("N1", { try $0.insert("N1", "new") }),
      ("T2", { try $0.remove("T2") }), ("T3", { try $0.edit("T3") { $0.score += 1 } }),
    ]
    for (id, write) in steps {
      promises.open = id
      guard (try? write(a)) != nil else { return }  // the process ended
      switch id {
      case "T1": promises.titles[id] = "A's"
      case "N1": promises.titles[id] = "new"
      case "T2": promises.deleted.insert(id)
      default: promises.titles[id] = "start"
      }
    }
    promises.open = nil
    await a.store.sync()
    guard !a.failPoints.hasCrashed else { return }
    promises.open = "N1"
    guard (try? a.retitle("N1", "newer")) != nil else { return }  // the process ended
    promises.titles["N1"] = "newer"
    promises.open = nil
    await a.store.sync()
  }

  /// Promises: Scenario-3, H-33, H-34
  @Test(
    "A process that ends at any step of its storage loses nothing"
  )
  func everyStep() async throws {
    let rehearsal = try await world()
    var all = Promises()
    await live(rehearsal.a, &all)
    let count = rehearsal.a.failPoints.passed.count
    #expect(rehearsal.a.failPoints.passed.contains { !$0.isByApp })
    #expect(count > 30)
    for step in 1...count {
      let pair = try await world()
      var promises = Promises()
      pair.a.failPoints.crash(at: step)
      await live(pair.a, &promises)
      #expect(pair.a.failPoints.hasCrashed)
      try pair.a.restart()
      #expect(try pair.a.store.diagnose().findings.isEmpty, "step \(step)")
      try check(promises, on: pair.a, "step \(step), before a sync")
      await pair.a.store.sync()
      try check(promises, on: pair.a, "step \(step)")
      #expect(try await pair.isEven(), "step \(step)")
      try await checkServer(promises, pair, "step \(step)")
    }
  }

  private func check(_ promises: Promises, on a: SimulatedDevice, _ place: Comment) throws {
    for (id, title) in promises.titles where promises.open != id { #expect(try a.title(id) == title, place) }
    for id in promises.deleted where promises.open != id { #expect(try a.note(id) == nil, place) }
    // Row and entry exist together or not at all. An unacknowledged record is pending, or never existed.
    if let open = promises.open, open == "N1", promises.titles["N1"] == nil {
      #expect(try a.note("N1") == nil || a.title("N1") == "new", place)
    }
  }

  private func checkServer(_ promises: Promises, _ pair: Pair, _ place: Comment) async throws {
    let server = try await pair.world.snapshot().server
    for (id, title) in promises.titles where promises.open != id {
      #expect(server[.note(id)]?["title"] == .string(title), place)
    }
    for id in promises.deleted { #expect(server[.note(id)] == nil, place) }
    #expect(server[.note("T1")]?["note"] == "B's", place)
    let score = server[.note("T3")]?["score"]?.intValue ?? 0
    if promises.titles["T3"] != nil { #expect(score == 1, place) } else { #expect(score <= 1, place) }
    #expect(Set(server.keys).isSuperset(of: [.note("B1"), .note("B2")]), place)
  }

  /// Promises: Scenario-5, H-69
  @Test("A sync that ended anywhere can be repeated with an unchanged result")
  func rerun() async throws {
    func prepared() async throws -> Pair {
      let pair = try await world()
      try pair.a.retitle("T1", "A's")
      try pair.a.insert("N1", "new")
      try pair.a.remove("T2")
      pair.a.failPoints.reset()
      return pair
    }
    let whole = try await prepared()
    await whole.a.store.sync()
    let count = whole.a.failPoints.passed.count
    let expected = try await whole.world.snapshot()
    #expect(expected.devices["a"]?.pending == [])
    #expect(count >= 9)
    for step in 1...count {
      let pair = try await prepared()
      pair.a.failPoints.crash(at: step)
      await pair.a.store.sync()
      try pair.a.restart()
      // The process ends again, one step later each time, before the sync completes.
      pair.a.failPoints.crash(at: 3)
      await pair.a.store.sync()
      try pair.a.restart()
      await pair.a.store.sync()
      let snapshot = try await pair.world.snapshot()
      #expect(snapshot.server == expected.server, "step \(step): \(snapshot.difference(from: expected))")
      #expect(snapshot.devices["a"]?.records == expected.devices["a"]?.records, "step \(step)")
      #expect(snapshot.devices["a"]?.pending == [], "step \(step)")
      pair.a.remote.forgetRequests()
      pair.a.failPoints.reset()
      await pair.a.store.sync()
      #expect(pair.a.operations.isEmpty, "step \(step): nothing new, and yet something was sent")
      #expect(try await pair.world.snapshot() == snapshot, "step \(step)")
    }
  }

  /// Promises: H-33
  @Test(
    "An operation repeated after a crash between response and commit counts once"
  )
  func betweenAnswerAndCommit() async throws {
    for kind in ["insert", "update", "delete"] {
      let calls = Calls()
      let pair = try await Pair.sharing(policy: .counting(calls))
      switch kind {
      case "insert": try pair.a.insert("N1", "new")
      case "update": try pair.a.edit { $0.score += 1 }
      default: try pair.a.remove()
      }
      // The step after the answer is the one that begins to apply it.
      let applying = Calls()
      pair.a.remote.setDuringExchange { [failPoints = pair.a.failPoints] in
        if applying.add() == 1 { failPoints.crash(at: 1) }
      }
      await pair.a.store.sync()
      #expect(pair.a.failPoints.hasCrashed)
      try pair.a.restart()
      let sent = pair.a.operations.map(\.id)
      await pair.a.store.sync()
      #expect(Set(pair.a.operations.map(\.id)) == Set(sent), "\(kind): under its first id")
      #expect(calls.count == 0, "\(kind): nobody need decide anything")
      #expect(try await pair.isEven())
      let server = try await pair.world.snapshot().server
      switch kind {
      case "insert": #expect(server.count == 2)
      case "update": #expect(server[.note()]?["score"] == 1)
      default: #expect(server.isEmpty)
      }
    }
  }
}
