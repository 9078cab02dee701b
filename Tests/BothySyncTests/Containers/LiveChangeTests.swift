import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// Single changes that arrive outside of syncs.
@Suite("Live changes", .faultsStrike, .timeLimit(.minutes(5)))
struct LiveChangeTests {
  /// Returns the note as the server has it.
  private func current(_ pair: Pair, _ id: String = "T1") async throws -> PushedChange {
    let record = try await pair.world.storage.read(space: "test") {
      try $0.records([.note(id)])[.note(id)]?.record
    }
    return PushedChange(try #require(record))
  }

  /// Promises: N-9, C-24, N-21
  @Test("A live change shows at once, and a duplicate or older one changes nothing")
  func applied() async throws {
    let pair = try await Pair.sharing()
    let store = pair.a.store
    try pair.b.retitle("second")
    await pair.b.store.sync()
    let second = try await current(pair)
    try pair.b.retitle("third")
    await pair.b.store.sync()
    let third = try await current(pair)
    #expect(try await store.apply(third) == .applied)
    #expect(try pair.a.title() == "third")
    #expect(try await store.apply(third) == .outdated)
    #expect(try await store.apply(second) == .outdated)
    #expect(try pair.a.title() == "third")
    #expect(pair.a.remote.requests.isEmpty)
    #expect(try await pair.isEven())
  }

  /// Promises: N-9, C-24
  @Test("A deletion removes the record, despite an older change and a pull after it")
  func deletion() async throws {
    let pair = try await Pair.sharing()
    try pair.b.remove()
    await pair.b.store.sync()
    #expect(try await pair.a.store.apply(current(pair)) == .applied)
    #expect(try pair.a.note() == nil)
    #expect(try await pair.isEven())
  }

  /// Promises: N-9
  @Test(
    "A live change leaves pending work alone, and the next sync merges it",
    arguments: [false, true])
  func pending(isDeleted: Bool) async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    try pair.a.edit { $0.note = "mine" }
    if isDeleted { try pair.b.remove() } else { try pair.b.retitle("theirs") }
    await pair.b.store.sync()
    let change = try await current(pair)
    #expect(try await pair.a.store.apply(change) == .noted)
    #expect(try await pair.a.store.apply(change) == .outdated)
    #expect(try pair.a.title() == "start" && pair.a.note()?.note == "mine")
    #expect(try pair.a.isPending())
    #expect(try await pair.isEven())
    if !isDeleted { #expect(try await pair.serverTitle() == "theirs") }
  }

  /// Promises: N-9
  @Test("The echo of an operation that waits for its response is ignored")
  func ownEcho() async throws {
    let pair = try await Pair.sharing()
    try pair.a.retitle("mine")
    pair.a.loseAnswer()
    await pair.a.store.sync()
    let operation = try #require(pair.a.operations.last?.id)
    var echo = try await current(pair)
    echo.operation = operation
    #expect(try await pair.a.store.apply(echo) == .ownEcho)
    #expect(try pair.a.isPending())
    pair.a.remote.setScript { .none }
    await pair.a.store.sync()
    #expect(try await pair.a.store.apply(echo) == .outdated)
    #expect(try await pair.isEven())
  }

  /// Promises: N-9
  @Test("A change outside all followed containers is ignored, or stored if configured")
  func unfollowed() async throws {
    for storesAll in [false, true] {
      let pair = try await Pair.sharing()
      var configuration = SyncOptions.following([SyncScope(container: "trips/oslo")])
      configuration.storesUnfollowedChanges = storesAll
      try pair.a.restart(configuration: configuration)
      #expect(try pair.a.noteIDs().isEmpty)
      #expect(try await pair.a.store.apply(current(pair)) == (storesAll ? .applied : .ignored))
      #expect(try pair.a.noteIDs() == (storesAll ? ["T1"] : []))
    }
  }

  @Test("A live change that moves a record out of all followed scopes deletes it")
  func movedOut() async throws {
    let pair = try await Pair.sharing()
    try pair.b.change { try $0.insert(Note(id: "O1", "n"), in: "trips/oslo") }
    await pair.b.store.sync()
    try pair.a.restart(configuration: .following([SyncScope(container: "trips/oslo")]))
    await pair.a.store.sync()
    #expect(try pair.a.noteIDs() == ["O1"])
    try await pair.b.store.move(.note("O1"), to: "trips/rome")
    await pair.b.store.sync()
    #expect(try await pair.a.store.apply(current(pair, "O1")) == .applied)
    #expect(try pair.a.noteIDs().isEmpty)
  }

  /// Promises: N-9
  @Test("A live change waits for a running sync of its container")
  func serialised() async throws {
    let pair = try await Pair.sharing()
    try pair.b.retitle("theirs")
    await pair.b.store.sync()
    let change = try await current(pair)
    let latch = Latch()
    pair.a.remote.setDuringExchange { await latch.pass() }
    let store = pair.a.store
    let sync = Task { await store.sync() }
    await latch.reached()
    let live = Task { try await store.apply(change) }
    for _ in 0..<100 { await Task.yield() }
    #expect(try pair.a.title() == "start")
    latch.open()
    _ = await sync.value
    #expect(try await live.value == .outdated)
    #expect(try pair.a.title() == "theirs")
  }
}
