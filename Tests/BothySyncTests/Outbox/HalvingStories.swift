import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Synchronization
import Testing

/// Requests that the server refuses as a whole because of one operation in them.
@Suite("Requests refused as a whole", .faultsStrike, .timeLimit(.minutes(5)))
struct HalvingStories {
  /// Answers `status` to every request that contains one of these records.
  private func refuse(_ ids: Set<String>, with status: Int, _ device: SimulatedDevice) {
    device.remote.plan(forExchange: { request in
      request.operations.contains { ids.contains($0.record.id) } ? .status(status, retryAfter: nil) : .none
    })
  }

  @Test(
    "The one bad operation of a request is found by halves and rejected alone",
    arguments: [400, 413, 422, 500])
  func one(_ status: Int) async throws {
    let pair = try await Pair.sharing()
    for number in 0..<20 { try pair.a.insert("N\(number)", "new") }
    refuse(["N13"], with: status, pair.a)
    let report = await pair.a.store.sync()
    #expect(report.obstacle == nil)
    #expect(try await pair.world.serverRecords().count == 20)
    #expect(report.rejected.map(\.record) == [.note("N13")])
    #expect(try pair.a.store.rejectedEntries().map(\.id) == [.note("N13")])
    #expect(try pair.a.store.outboxEntries().map(\.id) == [.note("N13")])
    #expect(report.requests <= 20)
    // Remote changes still arrive, and the bad operation is sent once the server accepts it.
    try pair.b.insert("T2", "theirs")
    await pair.b.store.sync()
    #expect(await pair.a.store.sync().obstacle == nil)
    #expect(try pair.a.title("T2") == "theirs")
    pair.a.remote.setScript { .none }
    pair.world.time.advance(by: 1000)
    await pair.a.store.sync()
    #expect(try await pair.isEven())
    #expect(try await pair.world.serverRecords().count == 22)
  }

  @Test("A server that is busy amid parts gets no further request at once")
  func busy() async throws {
    let pair = try await Pair.sharing()
    for number in 1...2 { try pair.a.insert("N\(number)", "new") }
    pair.a.remote.plan(forExchange: { request in
      if request.operations.count > 1 { return .status(400, retryAfter: nil) }
      return request.operations.first?.record.id == "N2" ? .status(429, retryAfter: 60) : .none
    })
    let report = await pair.a.store.sync()
    #expect(report.obstacle == .busyServer && report.retryAfter == 60 && report.pushed == 1)
    // In the whole request and alone.
    #expect(pair.a.operations.count { $0.record.id == "N2" } == 2)
  }

  @Test("A server that is busy after a refused request is left alone")
  func busyAfterRefusal() async throws {
    let pair = try await Pair.sharing()
    for number in 1...2 { try pair.a.insert("N\(number)", "new") }
    pair.a.remote.plan(forExchange: { request in
      request.operations.isEmpty ? .status(429, retryAfter: 60) : .status(400, retryAfter: nil)
    })
    let report = await pair.a.store.sync()
    #expect(report.obstacle == .busyServer && report.retryAfter == 60)
    #expect(pair.a.remote.requests.count == 2)
  }

  @Test("A transaction that a server finds too large says that it is one")
  func transaction() async throws {
    let pair = try await Pair.sharing()
    try await pair.a.store.write(.atomic) { transaction in
      for number in 0..<3 { try transaction.insert(Note(id: "N\(number)", "new")) }
    }
    refuse(["N1"], with: 413, pair.a)
    let report = await pair.a.store.sync()
    #expect(report.rejected.count == 3)
    #expect(report.rejected.allSatisfy { $0.code == "tooLarge" && $0.message.contains("as one transaction") })
  }

  /// Promises: H-41
  @Test("A lone operation that the server answers 400 is rejected, and pulls continue")
  func lone() async throws {
    let pair = try await Pair.sharing()
    try pair.a.insert("N1", "new")
    refuse(["N1"], with: 400, pair.a)
    try pair.b.insert("T2", "theirs")
    await pair.b.store.sync()
    let report = await pair.a.store.sync()
    #expect(report.obstacle == nil && report.rejected.map(\.record) == [.note("N1")])
    #expect(try pair.a.title("T2") == "theirs")
  }

  @Test("A server that fails every request rejects nothing, and costs two requests a sync")
  func outage() async throws {
    let pair = try await Pair.sharing()
    for number in 0..<20 { try pair.a.insert("N\(number)", "new") }
    pair.a.remote.plan(.status(500, retryAfter: nil))
    let report = await pair.a.store.sync()
    #expect(report.stop?.name == "serverError" && report.rejected.isEmpty)
    #expect(pair.a.remote.requests.count <= 2)
    #expect(try pair.a.store.rejectedEntries().isEmpty)
    pair.a.remote.setScript { .none }
    await pair.a.store.sync()
    #expect(try await pair.isEven())
  }

  @Test(
    "A server that accepts no change rejects none, within a dozen requests",
    arguments: [SyncOptions.RejectionPolicy.keepPending, .quarantine(after: 1), .discardAndRefetch])
  func takesNothing(_ policy: SyncOptions.RejectionPolicy) async throws {
    for status in [500, 507, 400, 408, 403, 511] {
      let pair = try await Pair.sharing { $0.rejectionPolicy = policy }
      try pair.a.retitle("mine")
      for number in 0..<200 { try pair.a.insert("N\(number)", "new") }
      pair.a.remote.plan(.status(status, retryAfter: nil), on: .operations)
      pair.a.remote.forgetRequests()
      let report = await pair.a.store.sync()
      #expect(report.obstacle != nil && report.rejected.isEmpty && report.overwritten.isEmpty, "\(status)")
      #expect(pair.a.remote.requests.count <= 16, "\(status)")
      #expect(try pair.a.store.rejectedEntries().isEmpty && pair.a.store.outboxEntries().count == 201)
      #expect(try pair.a.store.receipt(for: .note("N1")).known == .pending)
      pair.a.remote.setScript { .none }
      pair.world.time.advance(by: 1000)
      #expect(await pair.a.store.sync().pushed == 201)
      #expect(try await pair.isEven())
      #expect(try await pair.serverTitle() == "mine")
    }
  }

  @Test("Changes on which the server fails one after another do not delay others long")
  func manyBad() async throws {
    let pair = try await Pair.sharing { $0.rejectionPolicy = .discardAndRefetch }
    for number in 10..<50 { try pair.a.insert("N\(number)", "new") }
    let bad = Set((10..<22).map { "N\($0)" })
    refuse(bad, with: 500, pair.a)
    for _ in 0..<4 { await pair.a.store.sync() }
    #expect(try await pair.world.serverRecords().count == 29)
    #expect(try Set(pair.a.store.outboxEntries().map(\.id.id)) == bad)
    pair.a.remote.setScript { .none }
    pair.world.time.advance(by: 100_000)
    await pair.a.store.sync()
    #expect(try await pair.isEven())
    #expect(try await pair.world.serverRecords().count == 41)
  }

  @Test("Records that refer to one on which the server fails wait, unrejected")
  func dependents() async throws {
    let pair = try Pair(schema: .family, rules: .family) { $0.rejectionPolicy = .discardAndRefetch }
    await pair.a.store.sync()
    for number in 0..<3 {
      try pair.a.put(.parent("P\(number)"))
      try pair.a.put(.child("C\(number)", of: "P\(number)"))
    }
    refuse(["P1"], with: 500, pair.a)
    for _ in 0..<3 {
      let report = await pair.a.store.sync()
      #expect(report.rejected.allSatisfy { $0.record.id == "P1" } && report.overwritten.isEmpty)
    }
    #expect(try Set(pair.a.store.outboxEntries().map(\.id.id)) == ["P1", "C1"])
    #expect(try await pair.world.serverRecords().count == 4)
    pair.a.remote.setScript { .none }
    pair.world.time.advance(by: 1000)
    await pair.a.store.sync()
    #expect(try await pair.world.serverRecords().count == 6)
    #expect(try await pair.isEven())
  }

  @Test("Records that refer to one that the server refuses wait, unrejected")
  func dependentsOfRefused() async throws {
    let pair = try Pair(schema: .family, rules: .family) { $0.rejectionPolicy = .quarantine(after: 1) }
    await pair.a.store.sync()
    for number in 0..<3 {
      try pair.a.put(.parent("P\(number)"))
      try pair.a.put(.child("C\(number)", of: "P\(number)"))
    }
    refuse(["P1"], with: 413, pair.a)
    let report = await pair.a.store.sync()
    #expect(report.obstacle == nil && report.rejected.map(\.record.id) == ["P1"])
    #expect(try pair.a.store.rejectedEntries().map(\.id.id) == ["P1"])
    #expect(try await pair.world.serverRecords().count == 4)
    pair.a.remote.setScript { .none }
    try pair.a.change { try $0.update(RecordID(type: "Parent", id: "P1"), fields: ["name": .text("short")]) }
    #expect(try await pair.isEven())
    #expect(try await pair.world.serverRecords().count == 6)
  }

  @Test("What waits for a refused record keeps others waiting, unrejected")
  func chainOfRefused() async throws {
    let pair = try Pair(schema: .family, rules: .family) { $0.rejectionPolicy = .quarantine(after: 1) }
    await pair.a.store.sync()
    try pair.a.put(.parent("P"))
    try pair.a.put(.child("C", of: "P"))
    try pair.a.put(.parent("Q", best: "C"))
    refuse(["P"], with: 413, pair.a)
    #expect(await pair.a.store.sync().rejected.map(\.record.id) == ["P"])
    #expect(try pair.a.store.rejectedEntries().map(\.id.id) == ["P"])
    pair.a.remote.setScript { .none }
    try pair.a.change { try $0.update(RecordID(type: "Parent", id: "P"), fields: ["name": .text("short")]) }
    #expect(try await pair.isEven())
    #expect(try await pair.world.serverRecords().count == 3)
  }

  /// The fate of the first request with the record.
  enum Start: CaseIterable { case refused, failed, lost }

  @Test(
    "A refused record may refer to one that waits for it", arguments: Start.allCases, [false, true])
  func circleWithRefused(start: Start, isTogether: Bool) async throws {
    let pair = try Pair(schema: .family, rules: .family) { $0.rejectionPolicy = .quarantine(after: 1) }
    await pair.a.store.sync()
    try pair.a.put(.parent("P"))
    try await pair.a.store.write(isTogether ? .atomic : .independent) { transaction in
      for id in ["C", "D"] { try transaction.insert(AnyRecord.child(id, of: "P")) }
    }
    if start == .lost {
      pair.a.remote.plan(.lostRequest, on: .operations, times: 1)
      await pair.a.store.sync()
    }
    pair.a.remote.plan(forExchange: { request in
      guard request.operations.contains(where: { $0.record.id == "P" }) else { return .none }
      return .status(start == .failed && request.operations.count > 1 ? 500 : 413, retryAfter: nil)
    })
    #expect(await pair.a.store.sync().rejected.map(\.record.id) == ["P"])
    #expect(await pair.a.store.sync().rejected.isEmpty)
    pair.a.remote.setScript { .none }
    try pair.a.change { try $0.update(RecordID(type: "Parent", id: "P"), fields: ["best": .text("C")]) }
    #expect(try await pair.isEven())
    #expect(try await pair.server("P", type: "Parent")?["best"] == "C")
    #expect(try await pair.world.serverRecords().count == 3)
  }

  @Test(
    "A transaction that refers to a refused or failing record waits, unrejected", arguments: [413, 500],
    [SyncOptions.RejectionPolicy.quarantine(after: 1), .discardAndRefetch])
  func transactionOfRefused(status: Int, policy: SyncOptions.RejectionPolicy) async throws {
    let pair = try Pair(schema: .family, rules: .family) {
      $0.rejectionPolicies = ["Child": policy]
      $0.rejectionPolicy = .quarantine(after: 1)
    }
    await pair.a.store.sync()
    try pair.a.put(.parent("P"))
    try await pair.a.store.write(.atomic) { transaction in
      for id in ["C1", "C2"] { try transaction.insert(AnyRecord.child(id, of: "P")) }
    }
    try pair.a.put(.parent("Z"))
    refuse(["P"], with: status, pair.a)
    let report = await pair.a.store.sync()
    #expect(report.obstacle == nil && report.rejected.map(\.record.id) == ["P"])
    #expect(Set(report.blocked.map(\.record.id)) == ["C1", "C2"])
    #expect(try Set(pair.a.store.outboxEntries().map(\.id.id)) == ["P", "C1", "C2"])
    pair.a.remote.setScript { .none }
    try pair.a.change { try $0.update(RecordID(type: "Parent", id: "P"), fields: ["name": .text("short")]) }
    pair.world.time.advance(by: 1000)
    #expect(try await pair.isEven())
    #expect(try await pair.world.serverRecords().count == 4)
  }

  @Test("A change that failed is sent again with its id and counts once")
  func sameOperation() async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    try pair.a.edit { $0.score += 1 }
    try pair.a.insert("N1", "new")
    let isBroken = Mutex(true)
    // The server succeeds, and the gateway before it answers 500.
    pair.a.remote.setDuringExchange {}
    pair.a.remote.plan(forExchange: { request in
      let carries = request.operations.contains { $0.record == .note("T1") }
      return carries && isBroken.withLock { $0 } ? .status(500, retryAfter: nil) : .none
    })
    await pair.a.store.sync()
    let first = pair.a.operations.first { $0.record == .note("T1") }?.id
    isBroken.withLock { $0 = false }
    pair.world.time.advance(by: 1000)
    pair.a.remote.forgetRequests()
    await pair.a.store.sync()
    #expect(pair.a.operations.first { $0.record == .note("T1") }?.id == first)
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1")?["score"] == 1)
  }

  @Test("A cursor unknown to the server is discarded, and everything is pulled again")
  func badCursor() async throws {
    let world = try SimulatedWorld()
    // The server of another kind differs only in its cursors, which Bothy's own server doesn't know.
    let isOther = Mutex(true)
    let remote = RewritingRemote(InProcessRemote(world.service)) { request, server throws(RemoteError) in
      guard isOther.withLock({ $0 }) else { return try await server.exchange(request) }
      var request = request
      for index in request.pulls.indices { request.pulls[index].cursor = nil }
      var answer = try await server.exchange(request)
      for index in answer.pages.indices { answer.pages[index].cursor = "etag-1" }
      return answer
    }
    let folder = try TemporaryFolder()
    let store = try SyncedStore(
      at: folder.path + "/cursor.sqlite", schema: .notes, remote: remote, configuration: .quiet)
    try await store.store.write { try $0.insert(Note(id: "T1", "one")) }
    #expect(await store.sync().obstacle == nil)
    isOther.withLock { $0 = false }
    try await store.store.write { try $0.insert(Note(id: "T2", "two")) }
    #expect(await store.sync().obstacle == nil)
    #expect(try await world.serverRecords().count == 2)
    #expect(try store.outboxEntries().isEmpty)
    #expect(try await store.store.fetch(RecordQuery<Note>()).map(\.id).sorted() == ["T1", "T2"])
  }
}
