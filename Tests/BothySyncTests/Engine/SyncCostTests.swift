import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// The costs of syncs in commits, requests and SQL statements, where an app and its extension share a file. A rise is a
/// fault.
///
/// The counted statements are those that SQLite runs on all connections of the store, with `BEGIN` and `COMMIT`.
@Suite("Costs of a sync", .timeLimit(.minutes(5)))
struct SyncCostTests {
  /// Two devices of one user, where other processes may use the file of `a`.
  private struct Scene {
    let folder: TemporaryFolder
    let world: SimulatedWorld
    let b: SimulatedDevice
    let remote: FaultyRemote
    let store: SyncedStore
    let statements = StatementCount()

    init(scopes: [SyncScope] = [.everything], followed: [SyncScope] = [.everything]) async throws {
      folder = try TemporaryFolder()
      world = try SimulatedWorld()
      b = try world.addDevice("b", schema: .notes)
      remote = FaultyRemote(InProcessRemote(world.service))
      var configuration = SyncOptions.quiet
      configuration.scopes = scopes
      store = try SyncedStore(
        at: folder.path + "/cost.sqlite", schema: .notes, remote: remote, configuration: configuration,
        options: StoreOptions(readers: 1), clock: SyncClock(now: world.time.reader()))
      try statements.count(in: store.store)
      try await store.save(Note(id: "first", "first"), options: RequestOptions(writePolicy: .local))
      for _ in 0..<2 { #expect(await store.sync().obstacle == nil) }
      await b.store.sync()
    }

    func cost(of body: () async throws -> Void) async throws -> [Int] {
      let commits = try CommitCount(folder.path + "/cost.sqlite")
      let requests = remote.requests.count
      try await body()
      return [try commits.sinceThen(), remote.requests.count - requests]
    }

    /// Returns the number of statements that `body` runs, with repetitions.
    func statements(of body: () async throws -> Void) async throws -> Int {
      statements.forget()
      try await body()
      return statements.total
    }
  }

  @Test("A sync that finds nothing makes no commit and one request")
  func idle() async throws {
    let scene = try await Scene()
    let cost = try await scene.cost { for _ in 0..<3 { #expect(await scene.store.sync().obstacle == nil) } }
    #expect(cost == [0, 3])
  }

  @Test("A save makes one commit; its sync makes two, and one request")
  func oneEdit() async throws {
    let scene = try await Scene()
    let save = try await scene.cost {
      try await scene.store.save(Note(id: "x", "x"), options: RequestOptions(writePolicy: .local))
    }
    #expect(save == [1, 0])
    let sync = try await scene.cost { #expect(await scene.store.sync().pushed == 1) }
    #expect(sync == [2, 1])
  }

  @Test("A change of another device is one commit and one request")
  func remoteChange() async throws {
    let scene = try await Scene()
    try scene.b.insert("y", "of b")
    await scene.b.store.sync()
    let cost = try await scene.cost { #expect(await scene.store.sync().pulled == 1) }
    #expect(cost == [1, 1])
  }

  @Test("A hundred scopes without changes cost no commit and two requests")
  func manyScopes() async throws {
    let scopes = (0..<100).map { SyncScope(container: "book/\($0)", includesChildren: true) }
    let scene = try await Scene(scopes: scopes)
    let cost = try await scene.cost { #expect(await scene.store.sync().obstacle == nil) }
    #expect(cost == [0, 2])
  }

  /// Promises: C-13
  @Test("A sync runs no more statements than expected, whatever it finds")
  func statements() async throws {
    let scene = try await Scene()
    let idle = try await scene.statements { #expect(await scene.store.sync().obstacle == nil) }
    // Measured: 90, 10, 126, 95 and 1216, of which 12 for each scope, and one for each transaction that compares the
    // number of the tables, as reads do too. A save looks for what an online save has left on the server alone. The
    // bounds leave a tenth for another look-up, but not for a loop.
    #expect(idle <= 96, "idle")
    func save(_ id: String, in scene: Scene) async throws -> Int {
      try await scene.statements {
        try await scene.store.save(Note(id: id, "x"), options: RequestOptions(writePolicy: .local))
      }
    }
    // A notice of the commit before may add a statement to one of them.
    let saver = try await Scene()
    let several = [
      try await save("x", in: saver), try await save("y", in: saver), try await save("z", in: saver),
    ]
    let least = several.min() ?? .max
    #expect(least <= 10, "save")
    _ = try await save("x", in: scene)
    let edit = try await scene.statements { #expect(await scene.store.sync().pushed == 1) }
    #expect(edit <= 134, "edit")
    try scene.b.insert("y", "of b")
    await scene.b.store.sync()
    let change = try await scene.statements { #expect(await scene.store.sync().pulled == 1) }
    #expect(change <= 102, "change")
    let scopes = (0..<100).map { SyncScope(container: "book/\($0)", includesChildren: true) }
    let wide = try await Scene(scopes: scopes)
    let hundred = try await wide.statements { #expect(await wide.store.sync().obstacle == nil) }
    #expect(hundred <= 1300, "hundred")
    print(
      "statements: idle \(idle), save \(least), edit \(edit), remote change \(change), 100 scopes \(hundred)")
  }

  @Test("A save looks for edits of other processes only after their commits")
  func otherProcesses() async throws {
    let scene = try await Scene()
    let other = try SyncedStore(
      at: scene.folder.path + "/cost.sqlite", schema: .notes, remote: scene.remote, configuration: .quiet,
      clock: SyncClock(now: scene.world.time.reader()))
    func save(_ title: String) async throws -> Int {
      var note = try #require(try await scene.store.store.fetch(Note.self, id: "first"))
      note.title = title
      let edited = note
      return try await scene.statements {
        try await scene.store.save(edited, options: RequestOptions(writePolicy: .local))
      }
    }
    /// The smallest number of several saves. A notice of a commit that arrives during one may add statements.
    func least() async throws -> Int? {
      var counts: [Int] = []
      for number in 0..<4 { counts.append(try await save("least \(number)")) }
      return counts.min()
    }
    // The first finds the commits of the other store's opening.
    _ = try await save("one")
    let alone = try #require(try await least())
    try await other.store.write { _ = try $0.update(Note.self, id: "first") { $0.note = "theirs" } }
    #expect(try await save("three") > alone)
    #expect(try await least() == alone)
  }

  @Test("An unchanged container counts as pulled now, and in the file within an hour")
  func age() async throws {
    let scene = try await Scene()
    scene.world.time.advance(by: 1_800_000)
    #expect(await scene.store.sync().obstacle == nil)
    let now = scene.world.time.now
    #expect(try scene.store.containers().map(\.pulledAt) == [now])
    let other = try SyncedStore(
      at: scene.folder.path + "/cost.sqlite", schema: .notes, remote: scene.remote, configuration: .quiet,
      clock: SyncClock(now: scene.world.time.reader()))
    #expect(try other.containers().map(\.pulledAt) == [now - 1_800_000])
    scene.world.time.advance(by: 1_800_000)
    let cost = try await scene.cost { #expect(await scene.store.sync().obstacle == nil) }
    #expect(cost == [1, 1])
    #expect(try other.containers().map(\.pulledAt) == [now + 1_800_000])
  }

  @Test("A sync that moved records is logged once, with its final counts")
  func log() async throws {
    let scene = try await Scene()
    for number in 0..<3 { try scene.b.insert("n\(number)", "of b") }
    await scene.b.store.sync()
    try await scene.store.save(Note(id: "z", "z"), options: RequestOptions(writePolicy: .local))
    let before = try await scene.store.maintenance.syncRuns().count
    let report = await scene.store.sync()
    let runs = try await scene.store.maintenance.syncRuns()
    #expect(runs.count == before + 1)
    #expect(runs.first?.pushed == 1 && runs.first?.pulled == 3)
    #expect(runs.first?.requests == report.requests && runs.first?.problem == nil)
  }
}
