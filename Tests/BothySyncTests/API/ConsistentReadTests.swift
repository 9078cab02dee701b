import BothyStore
import BothySync
import BothyTesting
import Testing

/// Reads from the server, which show requested records with all that belongs to them.
@Suite("Reads that tear no transaction", .faultsStrike, .timeLimit(.minutes(5)))
struct ConsistentReadTests {
  private func bank() async throws -> Pair {
    let pair = try Pair(schema: .bank) { $0.readPolicy = .remoteElseLocal }
    try pair.b.open(["x": 100, "y": 100])
    await pair.b.store.sync()
    await pair.a.store.sync()
    pair.a.remote.forgetRequests()
    return pair
  }

  private func sum(_ device: SimulatedDevice) throws -> Int { try device.balances().values.reduce(0, +) }

  @Test("A fetch of one account shows all of a transfer or none of it")
  func transfer() async throws {
    let pair = try await bank()
    try pair.b.transfer(10, from: "x", to: "y")
    await pair.b.store.sync()
    let found = try await pair.a.store.fetch(BankAccount.self, id: "x")
    #expect(found?.balance == 90)
    #expect(try pair.a.balances() == ["x": 90, "y": 110])
  }

  @Test("A query from which a deletion removed a record shows all or none")
  func deletion() async throws {
    let pair = try await bank()
    try await pair.b.store.write(.atomic) { transaction in
      try transaction.update(BankAccount.self, id: "y") { $0.balance += 100 }
      try transaction.delete(BankAccount.self, id: "x")
    }
    await pair.b.store.sync()
    let found = try await pair.a.store.fetchResult(RecordQuery<BankAccount>().where { $0.balance == 100 })
    #expect(found.records.isEmpty && found.isComplete)
    #expect(try pair.a.balances() == ["y": 200])
  }

  @Test("Without a complete pull, the response shows the moment before")
  func cutOff() async throws {
    let pair = try await bank()
    try pair.b.transfer(10, from: "x", to: "y")
    await pair.b.store.sync()
    pair.a.remote.plan(.lostRequest)
    let found = try await pair.a.store.fetchResult(
      RecordQuery<BankAccount>().where(.compare(field: "id", .equal, "x")))
    #expect(found.records.map(\.balance) == [100] && found.origin == .local)
    await #expect(throws: BothyError.self) {
      try await pair.a.store.fetch(BankAccount.self, id: "x", options: .reading(.remote))
    }
    #expect(try sum(pair.a) == 200)
    pair.a.remote.setScript { .none }
    #expect(try await pair.a.store.fetch(BankAccount.self, id: "x")?.balance == 90)
    #expect(try sum(pair.a) == 200)
  }

  @Test("A response without changes costs no pull")
  func noNews() async throws {
    let pair = try await bank()
    _ = try await pair.a.store.fetchResult(RecordQuery<BankAccount>())
    #expect(pair.a.remote.requests.isEmpty && pair.a.remote.reads == 1)
  }

  @Test("A container that is followed alone is read whole, and others cost no pull")
  func container() async throws {
    let pair = try Pair(schema: .bank) { $0.readPolicy = .remoteElseLocal }
    for id in ["x", "y", "z"] {
      try pair.b.change {
        try $0.insert(BankAccount(id, 100), in: id == "z" ? "other" : "branch")
      }
    }
    await pair.b.store.sync()
    await pair.a.store.sync(.both, container: "branch")
    #expect(try sum(pair.a) == 200)
    try pair.b.transfer(10, from: "x", to: "y")
    try pair.b.change { try $0.update(BankAccount.self, id: "z") { $0.balance = 5 } }
    await pair.b.store.sync()
    #expect(try await pair.a.store.fetch(BankAccount.self, id: "x")?.balance == 90)
    #expect(try pair.a.balances() == ["x": 90, "y": 110])
    pair.a.remote.forgetRequests()
    #expect(try await pair.a.store.fetch(BankAccount.self, id: "z")?.balance == 5)
    #expect(pair.a.remote.requests.isEmpty)
  }

  @Test("Included records are shown with what belongs to them")
  func included() async throws {
    let pair = try Pair(schema: .family, rules: .family) { $0.readPolicy = .remoteElseLocal }
    try pair.b.put(.parent("P1"))
    try pair.b.put(.pet("X1", of: "P1"))
    await pair.b.store.sync()
    await pair.a.store.sync()
    try await pair.b.store.write(.atomic) { transaction in
      try transaction.update(RecordID(type: "Parent", id: "P1"), fields: ["name": "new"])
      try transaction.insert(.parent("P2"))
    }
    await pair.b.store.sync()
    var query = AnyQuery("Pet")
    query.include = ["owner"]
    _ = try await pair.a.store.fetchResult(query)
    #expect(try pair.a.record("Parent", "P1")?["name"] == "new")
    #expect(try pair.a.record("Parent", "P2") != nil)
  }
}
