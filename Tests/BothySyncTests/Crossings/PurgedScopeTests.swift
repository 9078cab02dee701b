import BothyStore
import BothySync
import BothyTesting
import Testing

@Suite("Purged containers and the subscriptions around them", .faultsStrike, .timeLimit(.minutes(5)))
struct PurgedScopeTests {
  private static let oslo = SyncScope(container: "trips/oslo", includesChildren: true)

  /// Returns a device that subscribes to `trips`, with three memos of a container in it.
  private func device() async throws -> (world: SimulatedWorld, device: SimulatedDevice) {
    let world = try SimulatedWorld()
    let other = try world.device("b", memo(1))
    for id in ["1", "2", "3"] { try other.put("Memo", id, ["title": .text(id)], in: "trips/oslo") }
    await other.store.sync()
    let device = try world.device("a", memo(1)) { options in
      options.scopes = [SyncScope(container: "trips", includesChildren: true)]
      options.pageSize = 1
    }
    #expect(await device.store.sync().pulled == 3)
    return (world, device)
  }

  @Test("A purged container whose pull was interrupted goes with its larger subscription")
  func interrupted() async throws {
    let (world, device) = try await device()
    try device.set("Memo", "1", ["title": .text("mine")])
    try device.store.purge(container: "trips/oslo")
    device.loseConnection(after: 1)
    #expect(await device.store.sync().obstacle != nil)
    #expect(try device.store.containers().map(\.scope).contains(Self.oslo))
    device.remote.setScript { .none }
    try await device.store.subscriptions.set([])
    #expect(try device.store.containers().isEmpty)
    #expect(await device.store.sync().pushed == 1)
    #expect(try await world.server("Memo", "1")?["title"] == "mine")
    #expect(try device.ids(AnyQuery("Memo")).isEmpty)
  }

  @Test("Answers about a purged container are complete after its subscription ended")
  func answered() async throws {
    let (_, device) = try await device()
    try device.store.purge(container: "trips/oslo")
    try await device.store.subscriptions.set([])
    let query = AnyQuery("Memo", container: "trips/oslo")
    for policy in [ReadPolicy.remote, .local] {
      let found = try await device.store.fetchResult(query, options: RequestOptions(readPolicy: policy))
      #expect(found.records.count == 3 && found.isComplete)
    }
  }

  @Test("A purged container that gets a subscription of its own is downloaded once")
  func subscribed() async throws {
    let (_, device) = try await device()
    try device.store.purge(container: "trips/oslo")
    try await device.store.subscriptions.add(Self.oslo)
    #expect(await device.store.sync().pulled == 3)
    device.remote.forgetRequests()
    #expect(await device.store.sync().obstacle == nil)
    let pulls = device.remote.requests.flatMap(\.pulls)
    #expect(pulls.count == 2 && pulls.allSatisfy { $0.cursor != nil })
  }

  @Test(
    "A purged container is forgotten if all around it was purged too", arguments: [nil, "trips"])
  func around(container: String?) async throws {
    let (_, device) = try await device()
    try device.store.purge(container: "trips/oslo")
    if let container { try device.store.purge(container: container) } else { try device.store.purge() }
    #expect(await device.store.sync().obstacle == nil)
    #expect(try device.store.containers().map(\.scope.container) == ["trips"])
    try await device.store.subscriptions.set([])
    #expect(try device.ids(AnyQuery("Memo")).isEmpty)
  }
}
