import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// Answers to one of two stores on a file that arrive after the other has forgotten their scope.
@Suite("Pages of scopes that another process has forgotten", .timeLimit(.minutes(5)))
struct ForgottenScopeTests {
  /// Two stores on one file, and the answers to the first, which are held while `isHeld` is true.
  private struct Shared {
    let folder: TemporaryFolder
    let held: SyncedStore
    let other: SyncedStore
    let isHeld: Locked<Bool>
    let gate: Latch

    init(_ world: SimulatedWorld, _ scopes: [SyncScope]) throws {
      let folder = try TemporaryFolder()
      let (isHeld, gate) = (Locked(false), Latch())
      (self.folder, self.isHeld, self.gate) = (folder, isHeld, gate)
      let (server, path) = (InProcessRemote(world.service), folder.database)
      func open(_ remote: any RemoteStorage) throws -> SyncedStore {
        var configuration = SyncOptions.quiet
        configuration.scopes = scopes
        configuration.maxWait = .zero
        return try SyncedStore(
          at: path, schema: memo(1), remote: remote, configuration: configuration,
          clock: SyncClock(now: world.time.reader()))
      }
      held = try open(
        RewritingRemote(server) { request, server throws(RemoteError) in
          let response = try await server.exchange(request)
          if isHeld.value { await gate.pass() }
          return response
        })
      other = try open(server)
    }

    /// Does something while the answer to a sync of the first store is on its way.
    func whileHeld(_ body: () async throws -> Void) async throws {
      isHeld.value = true
      let syncing = Task { [held] in await held.sync() }
      await gate.reached()
      try await body()
      isHeld.value = false
      gate.open()
      #expect(await syncing.value.obstacle == nil)
    }

    func ids() throws -> [String] { try other.store.fetch(AnyQuery("Memo")).map(\.id) }

    func close() throws {
      try held.close()
      try other.close()
    }
  }

  private func world(with containers: String...) async throws -> (SimulatedWorld, SimulatedDevice) {
    let world = try SimulatedWorld()
    let device = try world.device("b", memo(1))
    for name in containers { try device.put("Memo", name, ["title": .text(name)], in: name) }
    await device.store.sync()
    return (world, device)
  }

  @Test("A subscription that ends during its first pull brings no records")
  func endedSubscription() async throws {
    let (world, _) = try await world(with: "left", "right")
    let shared = try Shared(world, [.container("left"), .container("right")])
    try await shared.whileHeld { try await shared.other.subscriptions.remove(.container("right")) }
    #expect(try shared.ids() == ["left"])
    await shared.held.sync()
    await shared.other.sync()
    #expect(try shared.ids() == ["left"])
    #expect(shared.held.subscriptions.current == [.container("left")])
    #expect(try shared.other.containers().map(\.scope) == [.container("left")])
    try await shared.other.subscriptions.add(.container("right"))
    await shared.held.sync()
    #expect(try shared.ids() == ["left", "right"])
    try shared.close()
  }

  @Test("A container that both pull once more keeps no record that others delete meanwhile")
  func deletedMeanwhile() async throws {
    let (world, device) = try await world(with: "left", "right")
    let shared = try Shared(world, [.everything])
    await shared.held.sync()
    try shared.held.purge(container: "left")
    try await shared.whileHeld {
      try device.change { _ = try $0.delete(RecordID(type: "Memo", id: "left")) }
      await device.store.sync()
      await shared.other.sync()
    }
    #expect(try shared.ids() == ["right"])
    await shared.held.sync()
    #expect(try shared.ids() == ["right"])
    #expect(try shared.other.containers().map(\.scope) == [.everything])
    try shared.close()
  }
}
