import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

/// Transactions of others that span scopes, whose pages come with several requests or with the sync of a part.
@Suite("A transaction over several scopes", .faultsStrike, .timeLimit(.minutes(5)))
struct TransactionOverScopesTests {
  /// Returns a pair whose A subscribes to this many branches. B has an account in the first and one in the last.
  private func bank(_ branches: Int, pageSize: Int = 1000, isPulled: Bool = true) async throws -> Pair {
    let pair = try Pair(schema: .bank)
    try pair.b.change {
      try $0.insert(BankAccount("x", 100), in: "branch/0")
      try $0.insert(BankAccount("y", 100), in: "branch/\(branches - 1)")
    }
    await pair.b.store.sync()
    var options = SyncOptions.quiet
    options.scopes = (0..<branches).map { .container("branch/\($0)") }
    options.pageSize = pageSize
    options.merging = MergePolicies(default: .remoteWins)
    try pair.a.restart(configuration: options)
    if isPulled { #expect(await pair.a.store.sync().obstacle == nil) }
    pair.a.remote.forgetRequests()
    return pair
  }

  /// Returns a pair whose B has transferred an amount that A has not pulled.
  private func transfer(_ branches: Int, pageSize: Int = 1000) async throws -> Pair {
    let pair = try await bank(branches, pageSize: pageSize)
    try pair.b.transfer(10, from: "x", to: "y")
    await pair.b.store.sync()
    return pair
  }

  private static func sum(of store: SyncedStore) throws -> Int {
    try store.store.read { try $0.fetch(RecordQuery<BankAccount>()) }.map(\.balance).reduce(0, +)
  }

  /// Expects that a reader sees both accounts, or neither, as they were at one moment.
  private static func expectWhole(_ store: SyncedStore, _ place: Comment) {
    do {
      let sum = try Self.sum(of: store)
      #expect(sum == 0 || sum == 200, place)
    } catch { Issue.record(error, place) }
  }

  /// Looks before each request of A, and calls `body` with the request's number.
  private func watch(_ pair: Pair, _ body: @escaping @Sendable (Int) async throws -> Void = { _ in }) {
    let (store, calls) = (pair.a.store, Calls())
    pair.a.remote.setBeforeSending { _ in
      let number = calls.add()
      Self.expectWhole(store, "before request \(number)")
      do { try await body(number) } catch { Issue.record(error) }
    }
  }

  @Test("A sync with more scopes than a request has shows it as a whole", arguments: [1, 1000])
  func split(pageSize: Int) async throws {
    let pair = try await transfer(100, pageSize: pageSize)
    watch(pair)
    #expect(await pair.a.store.sync().obstacle == nil)
    #expect(try pair.a.balances() == ["x": 90, "y": 110])
    if pageSize > 1 { #expect(pair.a.remote.requests.count == 2) }
    for device in [pair.a, pair.b] { #expect(try device.store.outboxEntries().isEmpty) }
  }

  @Test("A first pull of a hundred scopes shows nothing before its last part")
  func firstPull() async throws {
    let pair = try await bank(100, isPulled: false)
    watch(pair)
    #expect(await pair.a.store.sync().obstacle == nil)
    #expect(try pair.a.balances() == ["x": 100, "y": 100])
    #expect(pair.a.remote.requests.count == 2)
  }

  @Test("One that is made between two requests is shown as a whole")
  func between() async throws {
    let pair = try await bank(100)
    let other = pair.b.store
    watch(pair) { number in
      guard number == 2 else { return }
      try await other.write(.atomic) { transaction in
        try transaction.update(BankAccount.self, id: "x") { $0.balance -= 10 }
        try transaction.update(BankAccount.self, id: "y") { $0.balance += 10 }
      }
      await other.sync()
    }
    #expect(await pair.a.store.sync().obstacle == nil)
    #expect(try pair.a.balances() == ["x": 90, "y": 110])
    // The scopes of the first request are requested again.
    #expect(pair.a.remote.requests.count == 3)
  }

  /// Returns a server with one account, in the first branch, that answers each request from this history.
  private func server(_ history: @escaping @Sendable () -> (epoch: String, position: Int64)) -> ScriptedRemote
  {
    let step = ScriptedRemote.Step.reply { request in
      let (epoch, position) = history()
      var response = SyncResponse(serverTime: 1_767_225_600_000)
      response.history = ServerHistory(server: "server", space: "space", epoch: epoch, position: position)
      response.pages = request.pulls.map { pull -> SyncResponse.Page in
        let isKnown = pull.cursor?.hasPrefix(epoch) ?? false
        var page = SyncResponse.Page(scope: pull.scope, cursor: "\(epoch).\(position).l", reset: !isKnown)
        page.isOtherHistory = !isKnown && pull.cursor != nil
        if !isKnown && pull.scope.container == "branch/0" {
          page.changes = [
            ServerRecord(
              id: .account("x"), container: "branch/0", version: "\(position)", modified: 1,
              fields: FieldsDocument(["balance": .int(position)]))
          ]
        }
        return page
      }
      return response
    }
    return ScriptedRemote(Array(repeating: step, count: 40))
  }

  /// Returns a store that subscribes to this many branches of the server.
  private func store(_ branches: Int, _ server: ScriptedRemote) throws -> SyncedStore {
    var options = SyncOptions.quiet
    options.scopes = (0..<branches).map { .container("branch/\($0)") }
    return try SyncedStore(at: nil, schema: .bank, remote: server, configuration: options)
  }

  @Test("Positions of another history between two requests aren't compared with the first")
  func otherHistory() async throws {
    let calls = Calls()
    let server = server { calls.add() == 1 ? ("one", 1000) : ("two", 5) }
    let store = try store(65, server)
    #expect(await store.sync().obstacle == nil)
    // The third request is for the scope that only the first history answered.
    #expect(server.requests.count == 3)
    #expect(try Self.sum(of: store) == 5)
  }

  @Test("A first pull of very many scopes ends, however little each request brings")
  func veryMany() async throws {
    let server = server { ("one", 1000) }
    let store = try store(1750, server)
    #expect(await store.sync().obstacle == nil)
    #expect(server.requests.count == 28)
    #expect(try Self.sum(of: store) == 1000)
  }

  @Test("A sync that is cut off shows nothing, and the next one all")
  func cutOff() async throws {
    let pair = try await transfer(100)
    pair.a.loseConnection(after: 1)
    #expect(await pair.a.store.sync().obstacle != nil)
    #expect(try pair.a.balances() == ["x": 100, "y": 100])
    pair.a.remote.setScript { .none }
    try pair.a.restart()
    watch(pair)
    #expect(await pair.a.store.sync().obstacle == nil)
    #expect(try pair.a.balances() == ["x": 90, "y": 110])
  }

  @Test("The sync of one container shows it with the other subscriptions")
  func partial() async throws {
    let pair = try await transfer(3)
    watch(pair)
    #expect(await pair.a.store.sync(.pull, container: "branch/0").obstacle == nil)
    #expect(try pair.a.balances() == ["x": 90, "y": 110])
    let pulls = pair.a.remote.requests.map { $0.pulls.map(\.scope.container).sorted() }
    #expect(pulls == [["branch/0"], ["branch/0", "branch/1", "branch/2"]])
    #expect(await pair.a.store.sync(.both, container: "branch/0").obstacle == nil)
    #expect(pair.a.remote.requests.count == 3)
  }

  @Test("A container that is downloaded again with the others is compared like them")
  func rebased() async throws {
    let pair = try await transfer(2)
    let head = try await pair.world.storage.statistics(of: "test").head
    try await pair.world.storage.compact(space: "test", upTo: head)
    let report = await pair.a.store.sync(container: "branch/0")
    #expect(Set(report.rebased) == [.container("branch/0"), .container("branch/1")])
    #expect(pair.a.remote.reads == 2)
    #expect(try pair.a.balances() == ["x": 90, "y": 110])
  }

  @Test("A first pull of a container whose records are here costs one request")
  func known() async throws {
    let pair = try await bank(2)
    #expect(await pair.a.store.sync(.pull, container: "branch").obstacle == nil)
    #expect(pair.a.remote.requests.count == 1)
  }

  @Test("Syncs of both containers at once show it as a whole, and both end")
  func sideBySide() async throws {
    let pair = try await transfer(2)
    watch(pair)
    let store = pair.a.store
    let syncs = (0..<2).map { number in Task { await store.sync(container: "branch/\(number)") } }
    for sync in syncs { #expect(await sync.value.obstacle == nil) }
    #expect(try pair.a.balances() == ["x": 90, "y": 110])
    #expect(!store.status.isSyncing)
  }

  @Test("The sync of a container waits for a lock of another that it shows")
  func locked() async throws {
    let pair = try await transfer(2)
    let (store, latch) = (pair.a.store, Latch())
    let body = Task { try await store.withSyncLock("branch/1") { await latch.pass() } }
    await latch.reached()
    let sync = Task { await store.sync(container: "branch/0") }
    try await until { pair.a.remote.requests.count == 1 }
    for _ in 0..<1000 { await Task.yield() }
    #expect(pair.a.remote.requests.count == 1)
    #expect(try pair.a.balances() == ["x": 100, "y": 100])
    latch.open()
    try await body.value
    #expect(await sync.value.pulled == 2)
    #expect(try pair.a.balances() == ["x": 90, "y": 110])
  }

  @Test("A subscription that ends before the others are pulled stays ended")
  func unsubscribed() async throws {
    let pair = try await transfer(2)
    let (store, latch) = (pair.a.store, Latch())
    let body = Task { try await store.withSyncLock("branch/1") { await latch.pass() } }
    await latch.reached()
    let sync = Task { await store.sync(container: "branch/0") }
    try await until { pair.a.remote.requests.count == 1 }
    // Returns once the first run of the sync has ended. The second waits for the lock.
    #expect(try await store.subscriptions.remove(.container("branch/1")) == 1)
    latch.open()
    try await body.value
    #expect(await sync.value.obstacle == nil)
    #expect(try pair.a.balances() == ["x": 90])
    #expect(pair.a.remote.requests.map { $0.pulls.map(\.scope.container) } == [["branch/0"], ["branch/0"]])
  }

  @Test("A conflict in a container is decided with the other subscriptions")
  func conflict() async throws {
    let pair = try await bank(2)
    try pair.a.change { try $0.update(BankAccount.self, id: "x") { $0.balance += 1 } }
    try pair.b.transfer(10, from: "x", to: "y")
    await pair.b.store.sync()
    let store = pair.a.store
    pair.a.remote.setBeforeSending { _ in
      // The payer's new balance is never shown alone. Until it is shown, the pending deposit is.
      do { #expect(try Self.sum(of: store) != 190) } catch { Issue.record(error) }
    }
    #expect(await store.sync(container: "branch/0").obstacle == nil)
    #expect(try pair.a.balances() == ["x": 90, "y": 110])
    #expect(try store.outboxEntries().isEmpty)
    #expect(pair.a.remote.requests.count == 3)
  }
}
