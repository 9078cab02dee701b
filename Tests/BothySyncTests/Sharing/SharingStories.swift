import BothyStore
import BothySync
import BothyTesting
import Testing

@Suite("Sharing", .faultsStrike, .timeLimit(.minutes(5)))
struct SharingStories {
  /// Promises: N-1, N-4
  @Test("A record is shared offline, shows it at once, and reaches the other when the network is back")
  func offline() async throws {
    let world = try Principals()
    try world.ann.insert("T1", "start")
    await world.sync(world.ann, world.bob)
    #expect(try world.bob.title() == nil)
    world.ann.remote.isOffline = true
    let receipt = try await world.ann.store.share(.note(), with: .principals("bob"))
    #expect(receipt.state == .pending)
    #expect(try world.ann.store.sharing(of: .note()) == .principals("bob"))
    #expect(try world.ann.store.state(of: .note()) == .pending(.update))
    try world.ann.restart()
    #expect(try world.ann.store.sharing(of: .note()) == .principals("bob"))
    world.ann.remote.isOffline = false
    await world.sync(world.ann, world.bob)
    #expect(try world.bob.title() == "start")
    #expect(try world.bob.store.sharing(of: .note()) == .principals("bob"))
    #expect(try await world.isEven())
  }

  @Test("A new record, edited and shared before anything was sent, is one entry and one operation")
  func oneEntry() async throws {
    let world = try Principals()
    try world.ann.insert("T1", "start")
    try await world.ann.store.share(.note(), with: .principals("bob", "cid"))
    try world.ann.retitle("edited")
    try await world.ann.store.unshare(.note(), from: .principals("cid"))
    #expect(try world.ann.store.outbox().map(\.kind) == [.insert])
    await world.sync(world.ann, world.bob)
    #expect(world.ann.operations.map(\.kind) == [.insert])
    #expect(try await world.serverSharing() == .principals("bob"))
    #expect(try world.bob.title() == "edited")
    #expect(try await world.isEven())
  }

  @Test("Sharing is settled apart from fields: a conflict over these, whoever wins it, leaves it pending")
  func conflict() async throws {
    for policy in [MergePolicy.serverModifiedWins, .clientWins, .fieldMerge] {
      let world = try Principals { $0.mergePolicies = MergePolicies(policy) }
      try world.ann.insert("T1", "start")
      try await world.ann.store.share(.note(), with: .principals("bob"))
      await world.sync(world.ann, world.bob)
      try world.ann.retitle("ann's")
      try await world.ann.store.share(.note(), with: .principals("cid"))
      try world.bob.retitle("bob's")
      await world.sync(world.bob, world.ann)
      #expect(try await world.serverSharing() == .principals("bob", "cid"), "\(policy.name)")
      #expect(try await world.isEven())
    }
  }

  @Test(
    "A record that others edited meanwhile is shared without asking any policy, and nothing is overwritten")
  func noConflict() async throws {
    let calls = Calls()
    let world = try Principals { $0.mergePolicies = MergePolicies(.counting(calls)) }
    try world.ann.insert("T1", "start")
    try await world.ann.store.share(.note(), with: .principals("bob"))
    await world.sync(world.ann, world.bob)
    try world.bob.retitle("bob's")
    await world.sync(world.bob)
    try await world.ann.store.share(.note(), with: .principals("cid"))
    let report = await world.ann.store.sync()
    #expect(report.overwritten.isEmpty && report.failures.isEmpty)
    #expect(calls.count == 0)
    #expect(try world.ann.title() == "bob's")
    #expect(try await world.serverSharing() == .principals("bob", "cid"))
    #expect(try await world.isEven())
  }

  @Test("A lost answer shares once; what was changed since is sent next")
  func lostAnswer() async throws {
    let world = try Principals()
    try world.ann.insert("T1", "start")
    await world.sync(world.ann, world.bob)
    try await world.ann.store.share(.note(), with: .principals("bob"))
    world.ann.loseAnswer()
    await world.sync(world.ann)
    #expect(try await world.serverSharing() == .principals("bob"))
    try await world.ann.store.unshare(.note(), from: .principals("bob"))
    try await world.ann.store.share(.note(), with: .principals("cid"))
    #expect(try world.ann.store.sharing(of: .note()) == .principals("cid"))
    await world.sync(world.ann)
    #expect(try await world.serverSharing() == .principals("cid"))
    #expect(try world.ann.store.sharing(of: .note()) == .principals("cid"))
    #expect(try await world.isEven())
  }

  @Test("Sharing while the record's push is in flight stays pending and is sent next")
  func inFlight() async throws {
    let world = try Principals()
    try world.ann.insert("T1", "start")
    await world.sync(world.ann)
    try world.ann.retitle("edited")
    let calls = Calls()
    world.ann.remote.setDuringExchange { [store = world.ann.store] in
      guard calls.add() == 1 else { return }
      _ = try? await store.share(.note(), with: .principals("bob"))
    }
    await world.sync(world.ann, world.bob)
    world.ann.remote.setDuringExchange {}
    await world.sync(world.ann)
    #expect(try await world.serverSharing() == .principals("bob"))
    #expect(try await world.isEven())
  }

  /// Promises: N-7
  @Test(
    "Who is shut out loses the record at the next sync; what is pending of it stays, and its push is refused")
  func shutOut() async throws {
    let world = try Principals()
    for id in ["T1", "T2"] {
      try world.ann.insert(id, "start")
      try await world.ann.store.share(.note(id), with: .principals("bob"))
    }
    await world.sync(world.ann, world.bob)
    try world.bob.retitle("T2", "bob's")
    for id in ["T1", "T2"] { try await world.ann.store.unshare(.note(id), from: .principals("bob")) }
    await world.sync(world.ann)
    world.bob.remote.forgetRequests()
    let pulled = await world.bob.store.sync(.pull)
    #expect(try world.bob.noteIDs() == ["T2"])
    #expect(pulled.leaving == [.note("T2")])
    let pushed = await world.bob.store.sync()
    #expect(pushed.failures.map(\.code) == ["forbidden"])
    #expect(try world.bob.title("T2") == "bob's")
    #expect(try world.bob.store.inbox().map(\.record) == [.note("T2")])
    try world.bob.store.resolve(.note("T2"), .revert)
    #expect(try world.bob.noteIDs() == [])
    #expect(try await world.isEven())
  }

  @Test("What was shut out and is let in again is pushed as if nothing had been")
  func letInAgain() async throws {
    let world = try Principals()
    try world.ann.insert("T1", "start")
    try await world.ann.store.share(.note(), with: .principals("bob"))
    await world.sync(world.ann, world.bob)
    try world.bob.retitle("bob's")
    try await world.ann.store.unshare(.note(), from: .principals("bob"))
    await world.sync(world.ann, world.bob)
    try await world.ann.store.share(.note(), with: .principals("bob"))
    await world.sync(world.ann)
    world.world.time.advance(by: 1_000_000)
    await world.sync(world.bob, world.ann)
    #expect(try world.ann.title() == "bob's")
    #expect(try await world.isEven())
  }

  @Test("Only those who may share; the refusal is in the inbox and can be undone")
  func refusal() async throws {
    let world = try Principals()
    try world.ann.insert("T1", "start")
    try await world.ann.store.share(.note(), with: .principals("bob"))
    await world.sync(world.ann, world.bob)
    try await world.bob.store.share(.note(), with: .principals("cid"))
    await world.sync(world.bob)
    #expect(try world.bob.store.inbox().first?.reason?.fields.map(\.field) == ["sharing"])
    #expect(try world.bob.store.sharing(of: .note()) == .principals("bob", "cid"))
    try world.bob.store.resolve(.note(), .revert)
    #expect(try world.bob.store.sharing(of: .note()) == .principals("bob"))
    #expect(try await world.isEven())
  }

  @Test("A share made while another has no answer holds beside it", arguments: [false, true])
  func meanwhile(isApplied: Bool) async throws {
    let world = try Principals()
    try await world.ann.store.save(Note(id: "T1", "start"))
    await world.sync(world.ann)
    world.ann.remote.plan(isApplied ? .lostAnswer : .lostRequest, on: .operations, times: 1)
    let (calls, store) = (Calls(), world.ann.store)
    world.ann.remote.setBeforeSending { _ in
      guard calls.add() == 1 else { return }
      do {
        try await store.share(.note(), with: .principals("cid"))
        try await store.store.write { _ = try $0.update(Note.self, id: "T1") { $0.note = "meanwhile" } }
      } catch { Issue.record(error) }
    }
    try await store.share(
      .note(), with: .principals("bob"), options: RequestOptions(savePolicy: .networkThenCache))
    #expect(try store.sharing(of: .note()) == .principals("bob", "cid"))
    #expect(try await world.isEven())
    #expect(try store.sharing(of: .note()) == .principals("bob", "cid"))
    #expect(try world.bob.note()?.note == "meanwhile")
  }

  @Test("Under the network policies the server decides at once, and a refusal changes nothing")
  func networkFirst() async throws {
    let world = try Principals { $0.savePolicy = .networkThenCache }
    try await world.ann.store.save(Note(id: "T1", "start"))
    let receipt = try await world.ann.store.share(.note(), with: .principals("bob"))
    guard case .accepted = receipt.state else {
      Issue.record("\(receipt.state)")
      return
    }
    #expect(try world.ann.store.sharing(of: .note()) == .principals("bob"))
    await world.sync(world.bob)
    let error = await #expect(throws: SyncError.self) {
      try await world.bob.store.share(.note(), with: .principals("cid"))
    }
    #expect(error?.code == .rejected)
    #expect(try world.bob.store.sharing(of: .note()) == .principals("bob"))
    world.ann.remote.isOffline = true
    try await world.ann.store.share(.note(), with: .principals("cid"))
    #expect(try world.ann.store.outbox().map(\.record) == [.note()])
    world.ann.remote.isOffline = false
    #expect(try await world.isEven())
    #expect(try await world.serverSharing() == .principals("bob", "cid"))
  }

  @Test("A record that is not here can't be shared, nor one of a type that stays here")
  func wrongRecords() async throws {
    var schema = StoreSchema.notes
    schema.types.append(TypeSchema("Own", fields: [FieldSchema("x", .int)], synced: false))
    let world = try Principals(schema: schema)
    let missing = await #expect(throws: StoreError.self) {
      try await world.ann.store.share(.note(), with: .principals("bob"))
    }
    #expect(missing?.code == .notFound)
    try world.ann.put(AnyRecord("Own", id: "1", ["x": .int(1)]))
    let own = await #expect(throws: SyncError.self) {
      try await world.ann.store.share(RecordID(type: "Own", id: "1"), with: .principals("bob"))
    }
    #expect(own?.code == .notSynced)
  }

  @Test("A device that pulled nothing of a deleted record's sharing shares a new one by its id afresh")
  func again() async throws {
    let world = try Principals()
    try world.ann.insert("T1", "start")
    try await world.ann.store.share(.note(), with: .principals("bob"))
    await world.sync(world.ann)
    try world.ann.remove()
    await world.sync(world.ann)
    try world.ann.insert("T1", "again")
    #expect(try world.ann.store.sharing(of: .note()) == .nobody)
    await world.sync(world.ann)
    // The server knows the tombstone: its owner and sharing hold.
    #expect(try world.ann.store.sharing(of: .note()) == .principals("bob"))
    #expect(try await world.isEven())
  }
}
