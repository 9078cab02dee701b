import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// Transactions that share a record with earlier, unsent ones. Each is sent separately, in order.
@Suite("Transactions on top of others", .faultsStrike, .timeLimit(.minutes(10)))
struct LaterTransactionStories {
  /// Returns two shops that add each sale to a shared register.
  private func shops(_ configure: (inout SyncOptions) -> Void = { _ in }) async throws -> Pair {
    let pair = try Pair(schema: .countingBank, policy: .fieldByField, configure)
    try pair.b.open(["register": 0])
    await pair.b.store.sync()
    await pair.a.store.sync()
    pair.a.remote.forgetRequests()
    return pair
  }

  @Test("Two tills with fifty offline sales each on one register lose none")
  func tills() async throws {
    let pair = try await shops()
    for number in 0..<50 {
      try pair.a.sell(1, as: "a\(number)")
      try pair.b.sell(100, as: "b\(number)")
    }
    let (first, second) = (await pair.a.store.sync(), await pair.b.store.sync())
    #expect(first.pushed == 100 && second.pushed == 100)
    #expect(first.requests <= 4 && second.requests <= 6, "\(first.requests) and \(second.requests) requests")
    #expect(try await pair.isEven())
    let balances = try await pair.world.serverBalances()
    #expect(balances["register"] == 50 + 5000)
    #expect(balances.count == 101)
  }

  @Test("A transaction on top of a merged one is accepted, not merged")
  func acceptedOnMerged() async throws {
    let pair = try await Pair.sharing(["T1", "T2"], policy: .fieldByField)
    try pair.b.edit { $0.note = "theirs" }
    await pair.b.store.sync()
    for number in 1...2 {
      try await pair.a.store.write(.atomic) { transaction in
        for id in ["T1", "T2"] { try transaction.update(Note.self, id: id) { $0.score += number } }
      }
    }
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "start", "note": "theirs", "score": 3])
    let ends = try pair.a.store.journal.entries(of: .note()).filter(\.isFinal)
    #expect(ends.sorted { $0.number < $1.number }.map(\.word) == ["merged", "accepted"])
  }

  @Test("Five thousand offline transactions on one record arrive separately")
  func thousands() async throws {
    let pair = try await shops()
    for number in 0..<5000 { try pair.a.sell(1, as: "s\(number)") }
    let report = await pair.a.store.sync()
    #expect(report.pushed == 10_000)
    #expect(report.requests <= 25, "\(report.requests) requests")
    #expect(Set(pair.a.operations.compactMap { $0.group?.id }).count == 5000)
    #expect(try await pair.world.serverBalances()["register"] == 5000)
    #expect(try await pair.isEven())
  }

  @Test("A rejected sale blocks later ones, and reverting it sends them without it")
  func refused() async throws {
    let schema = StoreSchema(types: StoreSchema.countingBank.types + [Note.schema])
    let rules = AccessRules(
      schema: StoreSchema(
        types: StoreSchema.countingBank.types + (AccessRules.withoutNotes.schema?.types ?? [])))
    let pair = try Pair(schema: schema, rules: rules, policy: .fieldByField) {
      $0.rejectionPolicy = .quarantine(after: 1)
    }
    try pair.a.open(["register": 0])
    await pair.a.store.sync()
    for (amount, note) in [(5, "refused"), (3, nil)] {
      try await pair.a.store.write(.atomic) { transaction in
        try transaction.insert(Note(id: "s\(amount)", "sale", note: note))
        try transaction.update(BankAccount.self, id: "register") { $0.balance += amount }
      }
    }
    let report = await pair.a.store.sync()
    #expect(report.blocked.contains(SyncReport.Blocked(record: .note("s3"), by: .account("register"))))
    #expect(Set(try pair.a.store.rejectedEntries().map(\.id)) == [.note("s5"), .account("register")])
    #expect(try pair.a.balance("register") == 8)
    #expect(try await pair.world.serverBalances() == ["register": 0])
    #expect(try pair.a.store.receipt(for: .note("s3")).known == .pending)
    try pair.a.store.resolve(.note("s5"), .revert)
    #expect(try pair.a.balance("register") == 3)
    #expect(try pair.a.noteIDs() == ["s3"])
    #expect(try await pair.isEven())
    #expect(try await pair.world.serverBalances() == ["register": 3])
  }

  @Test("A transaction reverted before it is sent leaves the others unchanged", arguments: [0, 1, 2])
  func undone(_ which: Int) async throws {
    let pair = try await shops()
    for number in 0..<3 { try pair.a.sell([1, 10, 100][number], as: "s\(number)") }
    try pair.a.store.resolve(.account("s\(which)"), .revert)
    let left = 111 - [1, 10, 100][which]
    #expect(try pair.a.balance("register") == left)
    #expect(try pair.a.balance("s\(which)") == nil)
    #expect(try await pair.isEven())
    #expect(try await pair.world.serverBalances()["register"] == left)
    #expect(try await pair.world.serverBalances().count == 3)
  }

  @Test("A transaction that gives way takes no later change along", arguments: [false, true])
  func givesWay(isTogether: Bool) async throws {
    let pair = try await Pair.sharing(["T1", "T2"], policy: .fieldByField)
    try pair.b.retitle("T2", "theirs")
    await pair.b.store.sync()
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.update(Note.self, id: "T1") { $0.title = "mine" }
      try transaction.update(Note.self, id: "T2") { $0.title = "mine" }
    }
    try await pair.a.store.write(isTogether ? .atomic : .independent) { transaction in
      try transaction.update(Note.self, id: "T1") { $0.note = "later" }
    }
    let receipt = try pair.a.store.receipt(for: .note("T1"))
    let report = await pair.a.store.sync()
    #expect(Set(report.overwritten.map(\.record)) == [.note("T1"), .note("T2")])
    #expect(try await pair.isEven())
    #expect(try pair.a.note("T1") == Note(id: "T1", "start", note: "later"))
    #expect(try pair.a.title("T2") == "theirs")
    guard case .accepted = try await receipt.outcome() else {
      Issue.record("\(try await receipt.outcome())")
      return
    }
  }

  @Test("Each of two transactions has its own verdict")
  func verdicts() async throws {
    let pair = try await Pair.sharing(["T1", "T2"])
    try pair.b.retitle("T2", "theirs")
    await pair.b.store.sync()
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.update(Note.self, id: "T1") { $0.title = "first" }
    }
    let first = try pair.a.store.receipt(for: .note("T1"))
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.update(Note.self, id: "T1") { $0.title = "second" }
      try transaction.update(Note.self, id: "T2") { $0.title = "second" }
    }
    let second = try pair.a.store.receipt(for: .note("T1"))
    await pair.a.store.sync()
    guard case .accepted = try await first.outcome(), case .overwritten = try await second.outcome() else {
      Issue.record("\(try await first.outcome()) and \(try await second.outcome())")
      return
    }
    #expect(try await pair.isEven())
    #expect(try pair.a.title("T1") == "first")
  }

  @Test("An edit on top of a rejected transaction corrects it", arguments: [false, true])
  func cured(isBefore: Bool) async throws {
    let pair = try await Pair.sharing(["T1", "T2"], rules: .withoutNotes) {
      $0.rejectionPolicy = .quarantine(after: 1)
    }
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.update(Note.self, id: "T1") { $0.note = "refused" }
      try transaction.update(Note.self, id: "T2") { $0.title = "together" }
    }
    if isBefore { try pair.a.edit("T1") { $0.note = nil } }
    await pair.a.store.sync()
    if !isBefore { try pair.a.edit("T1") { $0.note = nil } }
    #expect(try await pair.isEven())
    #expect(try await pair.serverTitle("T2") == "together")
  }

  @Test("A record deleted in one transaction and recreated in the next is both", arguments: [false, true])
  func deletedAndMade(losesAnswer: Bool) async throws {
    let pair = try await Pair.sharing(["T1", "T2"])
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.delete(Note.self, id: "T1")
      try transaction.update(Note.self, id: "T2") { $0.title = "deleted" }
    }
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.insert(Note(id: "T1", "again"))
      try transaction.update(Note.self, id: "T2") { $0.title = "again" }
    }
    try await pair.a.store.write(.atomic) { try $0.delete(Note.self, id: "T2") }
    if losesAnswer { pair.a.loseAnswer() }
    await pair.a.store.sync()
    #expect(pair.a.operations.prefix(5).map { $0.group?.size } == [2, 2, 2, 2, nil])
    #expect(try await pair.isEven())
    #expect(try await pair.serverTitle("T1") == "again")
    #expect(try await pair.server("T2") == nil)
  }

  @Test("Transactions with a lost response happen once each, even over a restart", arguments: [false, true])
  func lostAnswer(restarts: Bool) async throws {
    let pair = try await shops()
    for number in 0..<5 { try pair.a.sell(1, as: "s\(number)") }
    pair.a.loseAnswer(carrying: "s3")
    await pair.a.store.sync()
    if restarts { try pair.a.restart() }
    try pair.a.sell(10, as: "after")
    await pair.b.store.sync()
    try pair.b.sell(100, as: "other")
    await pair.b.store.sync()
    #expect(try await pair.isEven())
    #expect(try await pair.world.serverBalances()["register"] == 115)
    #expect(Set(pair.a.operations.map(\.id)).count <= 14)
  }

  @Test("Pending sharing beneath a transaction survives edits of other devices")
  func sharedBeneath() async throws {
    let pair = try await Pair.sharing(["T1", "T2"], policy: .fieldByField)
    try await pair.a.store.sharing.share(.note("T1"), with: Audience.users("guest"))
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.update(Note.self, id: "T1") { $0.title = "mine" }
      try transaction.update(Note.self, id: "T2") { $0.title = "mine" }
    }
    try pair.b.edit { $0.note = "theirs" }
    await pair.b.store.sync()
    #expect(try await pair.isEven())
    #expect(try pair.a.note() == Note(id: "T1", "mine", note: "theirs"))
    #expect(try pair.a.title("T2") == "mine")
  }

  @Test(
    "A change on top of a transaction that gave way contains nothing of it",
    arguments: [MergePolicy.remoteWins, .latestWins, .fieldByField].map(\.name))
  func withoutGround(_ policy: String) async throws {
    let policies: [MergePolicy] = [.remoteWins, .latestWins, .fieldByField]
    let pair = try await Pair.sharing(
      ["T1", "T2"], policy: policies.first { $0.name == policy } ?? .fieldByField)
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.update(Note.self, id: "T1") { $0.title = "mine" }
      try transaction.update(Note.self, id: "T2") { $0.title = "mine" }
    }
    try pair.a.edit { $0.note = "later" }
    pair.world.time.advance(by: 10_000)
    try pair.b.retitle("T2", "theirs")
    await pair.b.store.sync()
    #expect(try await pair.isEven())
    #expect(try pair.a.note() == Note(id: "T1", "start", note: "later"))
    #expect(try pair.a.title("T2") == "theirs")
  }

  @Test("A receipt does not depend on a later transaction that was reverted")
  func receiptBeneath() async throws {
    let pair = try await Pair.sharing(["T1", "T2"])
    try await pair.a.store.write(.atomic) { try $0.update(Note.self, id: "T1") { $0.title = "first" } }
    let first = try pair.a.store.receipt(for: .note("T1"))
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.update(Note.self, id: "T1") { $0.title = "second" }
      try transaction.update(Note.self, id: "T2") { $0.title = "second" }
    }
    try pair.a.store.resolve(.note("T2"), .revert)
    #expect(try pair.a.title("T1") == "first")
    guard case .accepted = try await first.outcome() else {
      Issue.record("\(try await first.outcome())")
      return
    }
    #expect(try await pair.isEven())
  }

  /// Promises: A-42
  @Test("A transaction reverted after it was sent is undone beneath those on top")
  func undoneInDoubt() async throws {
    let pair = try await shops()
    try pair.a.sell(1, as: "s1")
    try pair.a.sell(10, as: "s2")
    pair.a.loseAnswer(carrying: "s2")
    await pair.a.store.sync()
    try pair.a.store.resolve(.account("s1"), .revert)
    #expect(try pair.a.balance("register") == 10)
    #expect(try await pair.isEven())
    #expect(try await pair.world.serverBalances() == ["register": 10, "s2": 10])
  }
}

extension SimulatedDevice {
  /// Adds a sale, and its amount to the register, in one transaction.
  fileprivate func sell(_ amount: Int, as id: String) throws {
    try store.write(.atomic) { transaction in
      try transaction.insert(BankAccount(id, amount))
      try transaction.update(BankAccount.self, id: "register") { $0.balance += amount }
    }
  }
}
