import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

@Suite("Sharing", .faultsStrike, .timeLimit(.minutes(5)))
struct SharingStories {
  /// Promises: N-1, N-4
  @Test("A record shared offline shows its audience at once and arrives when online")
  func offline() async throws {
    let world = try TwoUsers()
    try world.ann.insert("T1", "start")
    await world.sync(world.ann, world.bob)
    #expect(try world.bob.title() == nil)
    world.ann.remote.isOffline = true
    let receipt = try await world.ann.store.sharing.share(.note(), with: .users("bob"))
    #expect(receipt.known == .pending)
    #expect(try world.ann.store.audience(of: .note()) == .users("bob"))
    #expect(try world.ann.store.state(of: .note()) == .pending(.update))
    try world.ann.restart()
    #expect(try world.ann.store.audience(of: .note()) == .users("bob"))
    world.ann.remote.isOffline = false
    await world.sync(world.ann, world.bob)
    #expect(try world.bob.title() == "start")
    #expect(try world.bob.store.audience(of: .note()) == .users("bob"))
    #expect(try await world.isEven())
  }

  @Test("A new record edited and shared before a sync is one entry and operation")
  func oneEntry() async throws {
    let world = try TwoUsers()
    try world.ann.insert("T1", "start")
    try await world.ann.store.sharing.share(.note(), with: .users("bob", "cid"))
    try world.ann.retitle("edited")
    try await world.ann.store.sharing.unshare(.note(), from: .users("cid"))
    #expect(try world.ann.store.outboxEntries().map(\.change) == [.insert])
    await world.sync(world.ann, world.bob)
    #expect(world.ann.operations.map(\.kind) == [.insert])
    #expect(try await world.serverSharing() == .users("bob"))
    #expect(try world.bob.title() == "edited")
    #expect(try await world.isEven())
  }

  @Test("A record created again and edited meanwhile has its audience")
  func again() async throws {
    let world = try TwoUsers()
    try world.ann.insert("T1", "start")
    try await world.ann.store.sharing.share(.note(), with: .users("bob"))
    await world.sync(world.ann, world.bob)
    try world.ann.remove()
    await world.sync(world.ann)
    try world.ann.insert("T1", "again")
    let (store, calls) = (world.ann.store.store, Calls())
    world.ann.remote.setDuringExchange {
      guard calls.add() == 1 else { return }
      do {
        try await store.write { _ = try $0.update(Note.self, id: "T1") { $0.title = "edited" } }
      } catch { Issue.record(error) }
    }
    await world.sync(world.ann, world.bob)
    #expect(try await world.serverSharing() == .users("bob"))
    #expect(try world.ann.store.audience(of: .note()) == .users("bob"))
    #expect(try world.bob.title() == "edited")
    #expect(try await world.isEven())
  }

  @Test("A conflict over fields leaves a pending change of the audience pending")
  func conflict() async throws {
    for policy in [MergePolicy.remoteWins, .localWins, .fieldByField] {
      let world = try TwoUsers { $0.merging = MergePolicies(default: policy) }
      try world.ann.insert("T1", "start")
      try await world.ann.store.sharing.share(.note(), with: .users("bob"))
      await world.sync(world.ann, world.bob)
      try world.ann.retitle("ann's")
      try await world.ann.store.sharing.share(.note(), with: .users("cid"))
      try world.bob.retitle("bob's")
      await world.sync(world.bob, world.ann)
      #expect(try await world.serverSharing() == .users("bob", "cid"), "\(policy.name)")
      #expect(try await world.isEven())
    }
  }

  @Test(
    "Sharing a record that another user edited runs no policy and overwrites nothing")
  func noConflict() async throws {
    let calls = Calls()
    let world = try TwoUsers { $0.merging = MergePolicies(default: .counting(calls)) }
    try world.ann.insert("T1", "start")
    try await world.ann.store.sharing.share(.note(), with: .users("bob"))
    await world.sync(world.ann, world.bob)
    try world.bob.retitle("bob's")
    await world.sync(world.bob)
    try await world.ann.store.sharing.share(.note(), with: .users("cid"))
    let report = await world.ann.store.sync()
    #expect(report.overwritten.isEmpty && report.rejected.isEmpty)
    #expect(calls.count == 0)
    #expect(try world.ann.title() == "bob's")
    #expect(try await world.serverSharing() == .users("bob", "cid"))
    #expect(try await world.isEven())
  }

  @Test("A lost response shares once, and later changes are sent next")
  func lostAnswer() async throws {
    let world = try TwoUsers()
    try world.ann.insert("T1", "start")
    await world.sync(world.ann, world.bob)
    try await world.ann.store.sharing.share(.note(), with: .users("bob"))
    world.ann.loseAnswer()
    await world.sync(world.ann)
    #expect(try await world.serverSharing() == .users("bob"))
    try await world.ann.store.sharing.unshare(.note(), from: .users("bob"))
    try await world.ann.store.sharing.share(.note(), with: .users("cid"))
    #expect(try world.ann.store.audience(of: .note()) == .users("cid"))
    await world.sync(world.ann)
    #expect(try await world.serverSharing() == .users("cid"))
    #expect(try world.ann.store.audience(of: .note()) == .users("cid"))
    #expect(try await world.isEven())
  }

  @Test("Sharing while the record's push is in flight stays pending and is sent next")
  func inFlight() async throws {
    let world = try TwoUsers()
    try world.ann.insert("T1", "start")
    await world.sync(world.ann)
    try world.ann.retitle("edited")
    let calls = Calls()
    world.ann.remote.setDuringExchange { [store = world.ann.store] in
      guard calls.add() == 1 else { return }
      _ = try? await store.sharing.share(.note(), with: .users("bob"))
    }
    await world.sync(world.ann, world.bob)
    world.ann.remote.setDuringExchange {}
    await world.sync(world.ann)
    #expect(try await world.serverSharing() == .users("bob"))
    #expect(try await world.isEven())
  }

  /// Promises: N-7
  @Test(
    "A user who loses access loses the record, and pending edits are rejected")
  func shutOut() async throws {
    let world = try TwoUsers()
    for id in ["T1", "T2"] {
      try world.ann.insert(id, "start")
      try await world.ann.store.sharing.share(.note(id), with: .users("bob"))
    }
    await world.sync(world.ann, world.bob)
    try world.bob.retitle("T2", "bob's")
    for id in ["T1", "T2"] { try await world.ann.store.sharing.unshare(.note(id), from: .users("bob")) }
    await world.sync(world.ann)
    world.bob.remote.forgetRequests()
    let pulled = await world.bob.store.sync(.pull)
    #expect(try world.bob.noteIDs() == ["T2"])
    #expect(pulled.leaving == [.note("T2")])
    let pushed = await world.bob.store.sync()
    #expect(pushed.rejected.map(\.code) == ["forbidden"])
    #expect(try world.bob.title("T2") == "bob's")
    #expect(try world.bob.store.rejectedEntries().map(\.id) == [.note("T2")])
    try world.bob.store.resolve(.note("T2"), .revert)
    #expect(try world.bob.noteIDs() == [])
    #expect(try await world.isEven())
  }

  @Test("A record that becomes visible again is pushed as if nothing had happened")
  func letInAgain() async throws {
    let world = try TwoUsers()
    try world.ann.insert("T1", "start")
    try await world.ann.store.sharing.share(.note(), with: .users("bob"))
    await world.sync(world.ann, world.bob)
    try world.bob.retitle("bob's")
    try await world.ann.store.sharing.unshare(.note(), from: .users("bob"))
    await world.sync(world.ann, world.bob)
    try await world.ann.store.sharing.share(.note(), with: .users("bob"))
    await world.sync(world.ann)
    world.world.time.advance(by: 1_000_000)
    await world.sync(world.bob, world.ann)
    #expect(try world.ann.title() == "bob's")
    #expect(try await world.isEven())
  }

  @Test("Sharing without permission is rejected and can be reverted")
  func refusal() async throws {
    let world = try TwoUsers()
    try world.ann.insert("T1", "start")
    try await world.ann.store.sharing.share(.note(), with: .users("bob"))
    await world.sync(world.ann, world.bob)
    try await world.bob.store.sharing.share(.note(), with: .users("cid"))
    await world.sync(world.bob)
    #expect(try world.bob.store.rejectedEntries().first?.reason?.fields.map(\.field) == ["sharing"])
    #expect(try world.bob.store.audience(of: .note()) == .users("bob", "cid"))
    try world.bob.store.resolve(.note(), .revert)
    #expect(try world.bob.store.audience(of: .note()) == .users("bob"))
    #expect(try await world.isEven())
  }

  @Test("A share made during an unanswered one is kept in addition", arguments: [false, true])
  func meanwhile(isApplied: Bool) async throws {
    let world = try TwoUsers()
    try await world.ann.store.save(Note(id: "T1", "start"))
    await world.sync(world.ann)
    world.ann.remote.plan(isApplied ? .lostAnswer : .lostRequest, on: .operations, times: 1)
    let (calls, store) = (Calls(), world.ann.store)
    world.ann.remote.setBeforeSending { _ in
      guard calls.add() == 1 else { return }
      do {
        try await store.sharing.share(.note(), with: .users("cid"))
        try await store.store.write { _ = try $0.update(Note.self, id: "T1") { $0.note = "meanwhile" } }
      } catch { Issue.record(error) }
    }
    try await store.sharing.share(
      .note(), with: .users("bob"), options: RequestOptions(writePolicy: .remoteThenLocal))
    #expect(try store.audience(of: .note()) == .users("bob", "cid"))
    #expect(try await world.isEven())
    #expect(try store.audience(of: .note()) == .users("bob", "cid"))
    #expect(try world.bob.note()?.note == "meanwhile")
  }

  @Test("With network policies the server decides at once, and a rejection changes nothing")
  func networkFirst() async throws {
    let world = try TwoUsers { $0.writePolicy = .remoteThenLocal }
    try await world.ann.store.save(Note(id: "T1", "start"))
    let receipt = try await world.ann.store.sharing.share(.note(), with: .users("bob"))
    guard case .accepted = receipt.known else {
      Issue.record("\(receipt.state)")
      return
    }
    #expect(try world.ann.store.audience(of: .note()) == .users("bob"))
    await world.sync(world.bob)
    let error = await #expect(throws: BothyError.self) {
      try await world.bob.store.sharing.share(.note(), with: .users("cid"))
    }
    #expect(error?.code == .rejected)
    #expect(try world.bob.store.audience(of: .note()) == .users("bob"))
    world.ann.remote.isOffline = true
    try await world.ann.store.sharing.share(.note(), with: .users("cid"))
    #expect(try world.ann.store.outboxEntries().map(\.id) == [.note()])
    world.ann.remote.isOffline = false
    #expect(try await world.isEven())
    #expect(try await world.serverSharing() == .users("bob", "cid"))
  }

  @Test("A record that is missing or of a local type can't be shared")
  func wrongRecords() async throws {
    var schema = StoreSchema.notes
    schema.types.append(TypeSchema("Own", fields: [FieldSchema("x", .int)], synced: false))
    let world = try TwoUsers(schema: schema)
    let missing = await #expect(throws: BothyError.self) {
      try await world.ann.store.sharing.share(.note(), with: .users("bob"))
    }
    #expect(missing?.code == .notFound)
    try world.ann.put(AnyRecord("Own", id: "1", ["x": .int(1)]))
    let own = await #expect(throws: BothyError.self) {
      try await world.ann.store.sharing.share(RecordID(type: "Own", id: "1"), with: .users("bob"))
    }
    #expect(own?.code == .notSynced)
  }

  @Test("A new record with a deleted one's id starts without an audience")
  func createdAgain() async throws {
    let world = try TwoUsers()
    try world.ann.insert("T1", "start")
    try await world.ann.store.sharing.share(.note(), with: .users("bob"))
    await world.sync(world.ann)
    try world.ann.remove()
    await world.sync(world.ann)
    try world.ann.insert("T1", "again")
    #expect(try world.ann.store.audience(of: .note()) == .nobody)
    await world.sync(world.ann)
    // The server knows the tombstone, so its owner and audience stay in force.
    #expect(try world.ann.store.audience(of: .note()) == .users("bob"))
    #expect(try await world.isEven())
  }
}
