import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

/// The server accepts the changes of a transaction together, or none of them.
@Suite("Transactions on the way to the server", .faultsStrike, .timeLimit(.minutes(5)))
struct TogetherStories {
  private func bank(_ policy: MergePolicy = .remoteWins, rules: AccessRules = AccessRules())
    async throws -> Pair
  {
    let pair = try Pair(schema: .bank, rules: rules, policy: policy)
    try pair.b.open(["x": 100, "y": 100, "z": 100])
    await pair.b.store.sync()
    await pair.a.store.sync()
    pair.a.remote.forgetRequests()
    return pair
  }

  @Test("The operations of a transaction are adjacent in one request, with their number")
  func oneRequest() async throws {
    let pair = try await bank()
    try pair.a.transfer(10, from: "x", to: "y")
    try pair.a.put(AnyRecord("BankAccount", id: "w", ["balance": .int(1)]))
    #expect(await pair.a.store.sync().pushed == 3)
    let groups = pair.a.operations.map { $0.group?.size }
    #expect(groups == [2, 2, nil])
    #expect(Set(pair.a.operations.compactMap { $0.group?.id }).count == 1)
    #expect(try await pair.world.serverBalances() == ["x": 90, "y": 110, "z": 100, "w": 1])
    #expect(try await pair.isEven())
  }

  @Test(
    "If the server wins one record, the whole transaction gives way")
  func serverWins() async throws {
    let pair = try await bank()
    try pair.b.transfer(5, from: "x", to: "z")
    await pair.b.store.sync()
    try pair.a.transfer(10, from: "x", to: "y")
    let report = await pair.a.store.sync()
    #expect(Set(report.overwritten.map(\.record)) == [.account("x"), .account("y")])
    #expect(
      try report.overwritten.map { try $0.fields?.members()["balance"]?.intValue }.sorted {
        $0 ?? 0 < $1 ?? 0
      } == [90, 110])
    #expect(try pair.a.balances() == ["x": 95, "y": 100, "z": 105])
    #expect(try await pair.world.serverBalances() == ["x": 95, "y": 100, "z": 105])
    #expect(try await pair.isEven())
  }

  @Test("Equal results on two devices for different reasons still conflict")
  func sameBalance() async throws {
    for policy in [MergePolicy.remoteWins, .fieldByField] {
      let pair = try await bank(policy)
      try pair.b.transfer(10, from: "x", to: "z")
      await pair.b.store.sync()
      try pair.a.transfer(10, from: "x", to: "y")
      await pair.a.store.sync()
      #expect(try await pair.world.serverBalances() == ["x": 90, "y": 100, "z": 110])
      #expect(try await pair.isEven())
    }
  }

  @Test("If the client wins, the whole transaction is sent again")
  func localWins() async throws {
    let pair = try await bank(.localWins)
    try pair.b.transfer(5, from: "x", to: "z")
    await pair.b.store.sync()
    try pair.a.transfer(10, from: "x", to: "y")
    let report = await pair.a.store.sync()
    #expect(report.pushed == 2 && report.overwritten.isEmpty)
    #expect(pair.a.operations.map { $0.group?.size } == [2, 2, 2, 2])
    #expect(Set(pair.a.operations.map(\.id)).count == 4)
    #expect(try await pair.world.serverBalances() == ["x": 90, "y": 110, "z": 105])
    #expect(try await pair.isEven())
  }

  @Test("A merged record is sent again with the rest of its transaction")
  func merged() async throws {
    let policy = MergePolicy.custom { context in
      let added = (context.client?["balance"]?.intValue ?? 0) - (context.base?["balance"]?.intValue ?? 0)
      return .merged(["balance": .int((context.serverFields?["balance"]?.intValue ?? 0) + added)])
    }
    let pair = try await bank(policy)
    try pair.b.transfer(5, from: "x", to: "z")
    await pair.b.store.sync()
    try pair.a.transfer(10, from: "x", to: "y")
    await pair.a.store.sync()
    #expect(try await pair.world.serverBalances() == ["x": 85, "y": 110, "z": 105])
    #expect(try await pair.isEven())
  }

  @Test("A transaction whose response is lost happens once, even over a restart", arguments: [false, true])
  func lostAnswer(restarts: Bool) async throws {
    let pair = try await bank()
    try pair.a.transfer(10, from: "x", to: "y")
    pair.a.loseAnswer(carrying: "x")
    await pair.a.store.sync()
    if restarts { try pair.a.restart() }
    // Another device changes the result meanwhile.
    await pair.b.store.sync()
    try pair.b.transfer(20, from: "y", to: "z")
    await pair.b.store.sync()
    let report = await pair.a.store.sync()
    #expect(report.pushed == 2 && report.overwritten.isEmpty)
    #expect(Set(pair.a.operations.map(\.id)).count == 2)
    #expect(Set(pair.a.operations.map(\.group)).count == 1)
    #expect(try await pair.world.serverBalances() == ["x": 90, "y": 90, "z": 120])
    #expect(try await pair.isEven())
  }

  @Test("A transfer during the push of another follows it", arguments: [false, true])
  func duringFlight(isRefused: Bool) async throws {
    let pair = try await bank()
    if isRefused {
      try pair.b.transfer(1, from: "x", to: "z")
      await pair.b.store.sync()
    }
    try pair.a.transfer(10, from: "x", to: "y")
    let calls = Calls()
    pair.a.remote.setDuringExchange { [store = pair.a.store] in
      guard calls.add() == 1 else { return }
      do {
        try await store.write(.atomic) { transaction in
          try transaction.update(BankAccount.self, id: "y") { $0.balance -= 30 }
          try transaction.update(BankAccount.self, id: "z") { $0.balance += 30 }
        }
      } catch { Issue.record(error) }
    }
    await pair.a.store.sync()
    let expected = isRefused ? ["x": 99, "y": 100, "z": 101] : ["x": 90, "y": 80, "z": 130]
    #expect(try await pair.world.serverBalances() == expected)
    #expect(try await pair.isEven())
  }

  @Test("Transactions that share an unsent record are sent one after the other")
  func shared() async throws {
    let pair = try await bank()
    try pair.a.transfer(10, from: "x", to: "y")
    try pair.a.transfer(10, from: "y", to: "z")
    await pair.a.store.sync()
    #expect(pair.a.operations.map { $0.group?.size } == [2, 2, 2, 2])
    #expect(pair.a.operations.compactMap(\.after) == [pair.a.operations[1].id])
    #expect(pair.a.remote.requests.count == 1)
    #expect(try await pair.world.serverBalances() == ["x": 90, "y": 100, "z": 110])

    try await pair.a.store.write(.atomic) { transaction in
      try transaction.update(BankAccount.self, id: "x") { $0.balance -= 7 }
      try transaction.insert(BankAccount("new", 7))
    }
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.delete(BankAccount.self, id: "new")
      try transaction.update(BankAccount.self, id: "y") { $0.balance += 7 }
    }
    #expect(try await pair.isEven())
    #expect(try await pair.world.serverBalances() == ["x": 83, "y": 107, "z": 110])
  }

  @Test("One draft holds its whole transaction back until it is released")
  func draft() async throws {
    let pair = try await bank()
    try await pair.a.store.save(BankAccount("x", 90), options: RequestOptions(writePolicy: .draft))
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.update(BankAccount.self, id: "x") { $0.balance = 90 - 10 }
      try transaction.update(BankAccount.self, id: "y") { $0.balance += 10 }
    }
    let report = await pair.a.store.sync()
    #expect(pair.a.operations.isEmpty)
    #expect(report.blocked == [SyncReport.Blocked(record: .account("y"), by: .account("x"))])
    try pair.a.store.release(.account("x"))
    await pair.a.store.sync()
    #expect(try await pair.world.serverBalances() == ["x": 80, "y": 110, "z": 100])
  }

  @Test("A transaction larger than a batch has its own request, up to a limit")
  func large() async throws {
    let pair = try Pair(schema: .bank) {
      $0.batchSize = 10
      $0.groupLimit = 50
    }
    try pair.a.put(AnyRecord("BankAccount", id: "alone", ["balance": .int(1)]))
    try pair.a.open(Dictionary(uniqueKeysWithValues: (0..<50).map { ("n\($0)", $0) }))
    let error = #expect(throws: BothyError.self) {
      try pair.a.open(Dictionary(uniqueKeysWithValues: (0..<51).map { ("m\($0)", $0) }))
    }
    #expect(error?.code == .tooManyTogether)
    // A transaction that shares a record with it is separate.
    try pair.a.transfer(1, from: "n1", to: "alone")
    #expect(try pair.a.balances().count == 51)
    #expect(try pair.a.balance("alone") == 2)
    await pair.a.store.sync()
    #expect(pair.a.remote.requests.map(\.operations.count).filter { $0 > 0 } == [50, 3])
    #expect(try await pair.world.serverBalances().count == 51)
    #expect(try await pair.isEven())
  }

  @Test("A transaction with a directly saved record is sent first, in one request")
  func directWrite() async throws {
    let pair = try await bank()
    try pair.a.transfer(10, from: "x", to: "y")
    let receipt = try await pair.a.store.save(
      BankAccount("y", 200), options: RequestOptions(writePolicy: .remoteThenLocal))
    guard case .accepted = receipt.known else {
      Issue.record("\(receipt.state)")
      return
    }
    #expect(pair.a.operations.map { $0.group?.size } == [2, 2, nil])
    #expect(pair.a.remote.requests.count == 1)
    #expect(try await pair.world.serverBalances() == ["x": 90, "y": 200, "z": 100])
    #expect(try await pair.isEven())
  }

  @Test(
    "A pull of many pages never shows a part of a transfer"
  )
  func pages() async throws {
    let pair = try Pair(schema: .bank) { $0.pageSize = 1 }
    try pair.b.open(["x": 100, "y": 100, "z": 100])
    await pair.b.store.sync()
    let (store, problems) = (pair.a.store, Calls())
    pair.a.remote.setBeforeSending { _ in
      do {
        let total = try await store.store.read {
          try $0.fetch(RecordQuery<BankAccount>()).reduce(0) { $0 + $1.balance }
        }
        if total != 0 && total != 300 { problems.add() }
      } catch { problems.add() }
    }
    await pair.a.store.sync(.pull)
    #expect(pair.a.remote.requests.count == 3)
    try pair.b.transfer(10, from: "x", to: "y")
    try pair.b.transfer(20, from: "y", to: "z")
    await pair.b.store.sync()
    try pair.a.transfer(50, from: "z", to: "x")
    // Only a pull: conflicts with pending changes are decided before any of it is visible.
    await pair.a.store.sync(.pull)
    #expect(try pair.a.balances() == ["x": 90, "y": 90, "z": 120])
    #expect(problems.count == 0)
    #expect(try await pair.isEven())
  }
}
