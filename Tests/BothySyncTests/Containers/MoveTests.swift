import BothyStore
import BothySync
import BothyTesting
import Testing

/// Records that change their container, seen from devices that follow one of them.
@Suite("Moving between containers", .timeLimit(.minutes(5)))
struct MoveTests {
  private let oslo = SyncScope(container: "trips/oslo", includesChildren: true)
  private let rome = SyncScope(container: "trips/rome", includesChildren: true)

  /// Returns a pair: `a` moves records, and `b` follows only Oslo.
  private func pair(policy: MergePolicy = .remoteWins, _ ids: [String] = ["T1"]) async throws -> Pair {
    let pair = try Pair(policy: policy) { $0.pageSize = 3 }
    let osloOnly = oslo
    try pair.b.restart(configuration: .following([osloOnly], policy))
    try pair.a.change { transaction in
      for id in ids { try transaction.insert(Note(id: id, "start"), in: "trips/oslo") }
    }
    await pair.a.store.sync()
    await pair.b.store.sync()
    #expect(try pair.b.noteIDs() == ids)
    return pair
  }

  private func move(_ pair: Pair, _ id: String = "T1", to container: String = "trips/rome") async throws {
    try await pair.a.store.move(.note(id), to: container)
    await pair.a.store.sync()
  }

  private func container(_ pair: Pair, _ id: String = "T1") async throws -> String? {
    try await pair.world.serverRecords()[.note(id)]?.container
  }

  /// Promises: N-7, N-49
  @Test("A device that follows one container loses moved-out records and gains moved-in ones")
  func outAndIn() async throws {
    let pair = try await pair(["T1", "T2"])
    try await move(pair)
    #expect(try await container(pair) == "trips/rome")
    #expect(try pair.a.record("Note", "T1")?.container == "trips/rome")
    await pair.b.store.sync()
    #expect(try pair.b.noteIDs() == ["T2"])
    try await move(pair, to: "trips/oslo/day1")
    await pair.b.store.sync()
    #expect(try pair.b.record("Note", "T1")?.container == "trips/oslo/day1")
    for device in [pair.a, pair.b] {
      let digest = try await device.store.maintenance.remoteDigest(oslo)
      #expect(try device.store.digest(oslo).digest == digest.digest)
      #expect(try device.store.outboxEntries().isEmpty)
    }
  }

  @Test(
    "After moves and deletions elsewhere, the next pull leaves what the container holds"
  )
  func thereAndBack() async throws {
    let pair = try await pair(["T1", "T2", "T3"])
    for id in ["T1", "T2", "T3"] { try await move(pair, id) }
    try await move(pair, "T1", to: "trips/oslo")
    try pair.a.remove("T2")
    await pair.a.store.sync()
    await pair.b.store.sync()
    #expect(try pair.b.noteIDs() == ["T1"])
    #expect(try pair.b.store.diagnose().findings.isEmpty)
  }

  @Test("Many departures are paged")
  func pages() async throws {
    let ids = (1...8).map { "T\($0)" }
    let pair = try await pair(ids)
    for id in ids.dropLast() { try await pair.a.store.move(.note(id), to: "trips/rome") }
    await pair.a.store.sync()
    pair.b.remote.forgetRequests()
    await pair.b.store.sync()
    #expect(try pair.b.noteIDs() == ["T8"])
    #expect(pair.b.remote.requests.count == 3)
  }

  /// Promises: N-7
  @Test("A departed record with an unsent edit stays until the edit is sent")
  func pendingEdit() async throws {
    let pair = try await pair(policy: .fieldByField)
    try pair.b.edit { $0.note = "mine" }
    try await move(pair)
    await pair.b.store.sync(.pull)
    #expect(try pair.b.note()?.note == "mine")
    #expect(try pair.b.store.outboxEntries().first?.isLeaving == true)
    await pair.b.store.sync()
    #expect(try pair.b.note() == nil)
    #expect(try pair.b.store.outboxEntries().isEmpty)
    #expect(try await pair.server("T1")?["note"] == "mine")
    #expect(try await container(pair) == "trips/rome")
  }

  @Test("A departed record with a pending edit stays if it returns before the push")
  func pendingAndBack() async throws {
    let pair = try await pair(policy: .fieldByField)
    try pair.b.edit { $0.note = "mine" }
    try await move(pair)
    await pair.b.store.sync(.pull)
    try await move(pair, to: "trips/oslo")
    await pair.b.store.sync()
    #expect(try pair.b.note()?.note == "mine")
    #expect(try await pair.server("T1")?["note"] == "mine")
  }

  @Test("A record moved out of all scopes here stays until the server moves it")
  func ownMove() async throws {
    let pair = try await pair()
    try await pair.b.store.move(.note(), to: "trips/rome")
    #expect(try pair.b.note() != nil)
    await pair.b.store.sync()
    #expect(try pair.b.note() == nil)
    #expect(try await container(pair) == "trips/rome")
    await pair.a.store.sync()
    #expect(try pair.a.record("Note", "T1")?.container == "trips/rome")
  }

  @Test("A move and an edit by another device both apply", arguments: [MergePolicy.fieldByField, .localWins])
  func moveAndEdit(policy: MergePolicy) async throws {
    let pair = try await Pair.sharing(policy: policy)
    try pair.b.retitle("theirs")
    await pair.b.store.sync()
    try await pair.a.store.move(.note(), to: "trips/rome")
    await pair.a.store.sync()
    #expect(try await container(pair) == "trips/rome")
    #expect(try await pair.isEven())
    #expect(try pair.b.record("Note", "T1")?.container == "trips/rome")
    try pair.b.retitle("again")
    try await move(pair, to: "trips/oslo")
    await pair.b.store.sync()
    #expect(try await container(pair) == "trips/oslo")
    #expect(try await pair.serverTitle() == "again")
    #expect(try await pair.isEven())
  }

  @Test("A move that loses to the server's is undone, as is a reverted one")
  func undone() async throws {
    let pair = try await Pair.sharing()
    try await move(pair)
    try await pair.b.store.move(.note(), to: "trips/paris")
    await pair.b.store.sync()
    #expect(try await container(pair) == "trips/rome")
    #expect(try pair.b.record("Note", "T1")?.container == "trips/rome")
    try await pair.b.store.move(.note(), to: "trips/paris")
    try pair.b.store.resolve(.note(), .revert)
    #expect(try pair.b.record("Note", "T1")?.container == "trips/rome")
    #expect(try await pair.isEven())
  }

  @Test("A record moves with the scope that has it, whichever page arrives first")
  func bothFollowed() async throws {
    for scopes in [[oslo, rome], [rome, oslo]] {
      let pair = try await pair()
      try pair.b.restart(configuration: .following(scopes))
      await pair.b.store.sync()
      try await move(pair)
      await pair.b.store.sync()
      #expect(try pair.b.record("Note", "T1")?.container == "trips/rome")
      try await move(pair, to: "trips/oslo")
      await pair.b.store.sync()
      #expect(try pair.b.record("Note", "T1")?.container == "trips/oslo")
    }
  }

  @Test("A move under `.remoteThenLocal` reaches the server first")
  func networkFirst() async throws {
    let pair = try await Pair.sharing()
    let options = RequestOptions(writePolicy: .remoteThenLocal)
    try await pair.a.store.move(.note(), to: "trips/rome", options: options)
    #expect(try await container(pair) == "trips/rome")
    #expect(try pair.a.record("Note", "T1")?.container == "trips/rome")
    let note = try #require(try pair.a.note())
    try await pair.a.store.save(note, in: "trips/oslo", options: options)
    #expect(try await container(pair) == "trips/oslo")
    #expect(try await pair.isEven())
  }
}

extension SyncOptions {
  /// Returns a configuration that follows only these scopes.
  static func following(_ scopes: [SyncScope], _ policy: MergePolicy = .remoteWins)
    -> SyncOptions
  {
    var configuration = SyncOptions.quiet
    configuration.scopes = scopes
    configuration.merging = MergePolicies(default: policy)
    configuration.pageSize = 3
    return configuration
  }
}
