import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

/// Tokens that expire, and users that sign in and out, on one device.
@Suite("Authentication", .faultsStrike, .timeLimit(.minutes(5)))
struct AuthScenario {
  private let ann = AccountDevice.ann
  private let bob = AccountDevice.bob

  private func write(_ account: Account, _ body: @escaping @Sendable (WriteTransaction) throws -> Void)
    async throws
  {
    try await account.store.store.write(body)
  }

  /// Promises: Scenario-22, H-53, N-36
  @Test(
    "After an expired token and another user's visit, the first user's pending changes remain"
  )
  func users() async throws {
    let device = try AccountDevice()
    let (first, remote) = try device.open(ann)
    try await write(first) { transaction in
      for number in 0..<3 { try transaction.insert(Note(id: "a\(number)", "a\(number)")) }
    }
    await first.store.sync()
    try await write(first) { transaction in
      try transaction.update(Note.self, id: "a0") { $0.title = "edited" }
      try transaction.delete(Note.self, id: "a1")
      try transaction.insert(Note(id: "a3", "a3"))
    }
    // 401 in the middle of the sync: finished work counts, and the rest is unchanged.
    let calls = Calls()
    remote.plan { calls.add() > 1 ? .status(401, retryAfter: nil) : .none }
    await first.store.sync()
    try await write(first) { try $0.insert(Note(id: "a4", "a4")) }
    for _ in 0..<2 {
      let refused = await first.store.sync()
      #expect(refused.stop?.name == "signInRequired" && refused.rejected.isEmpty)
    }
    let left = try first.store.pendingCounts().total
    #expect(left >= 1)
    let refusal = await #expect(throws: BothyError.self) { try await first.signOut(.refuseIfPending) }
    #expect(refusal?.pendingCount == left)
    #expect(try await first.signOut(.park) == left)

    let (other, others) = try device.open(bob)
    #expect(try other.store.outboxEntries().isEmpty)
    #expect(try await other.store.store.fetch(RecordQuery<Note>()).isEmpty)
    try await write(other) { try $0.insert(Note(id: "b1", "b1")) }
    await other.store.sync()
    #expect(others.requests.flatMap(\.operations).map(\.record.id) == ["b1"])
    try await other.signOut(.refuseIfPending)

    let (back, _) = try device.open(ann)
    #expect(try back.store.pendingCounts().total == left)
    #expect(await back.store.sync().obstacle == nil)
    #expect(try back.store.outboxEntries().isEmpty)
    let digest = try await device.service.digest(space: "hut", user: Caller("ann"), .everything)
    #expect(try back.store.digest().digest == digest.digest)
    let served = try await device.served()
    #expect(
      served["edited"] == "ann" && served["a4"] == "ann" && served["b1"] == "bob" && served["a1"] == nil)
    #expect(try back.store.diagnose().findings.isEmpty)
  }

  /// Promises: Scenario-22, S-85
  @Test(
    "Without a token no request is repeated, and the next token sends everything")
  func afterSigningIn() async throws {
    let device = try AccountDevice()
    let (account, remote) = try device.open(ann)
    remote.plan(.status(401, retryAfter: nil))
    try await write(account) { try $0.insert(Note(id: "a1", "a1")) }
    let store = account.store
    let clock = VirtualClock()
    let run = Task { await store.run(clock: clock) }
    store.requestSync()
    try await until {
      store.status.lastStop?.name == "signInRequired" && store.status.phase == .idle
    }
    #expect(clock.sleepers.isEmpty && remote.requests.count == 1)
    // Another trigger waits until the refusal is some time ago. The app that has a new token requests a sync.
    store.requestSync()
    await clock.waitForSleepers()
    #expect(remote.requests.count == 1)
    remote.setScript { .none }
    #expect(await store.sync().obstacle == nil)
    #expect(try store.outboxEntries().isEmpty)
    try await write(account) { try $0.insert(Note(id: "a2", "a2")) }
    store.requestSync()
    try await until { try store.outboxEntries().isEmpty }
    run.cancel()
    await run.value
    #expect(try await device.served() == ["a1": "ann", "a2": "ann"])
  }
}
