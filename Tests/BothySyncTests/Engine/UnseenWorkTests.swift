import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// Work that `run()` has to find although nothing of it happens while it looks.
@Suite("Work that no event reports", .timeLimit(.minutes(5)))
struct UnseenWorkTests {
  @Test("A run begins with a sync if one of several subscriptions was never pulled")
  func subscriptionNeverPulled() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1)) { $0.scopes = [.container("left")] }
    let b = try world.device("b", memo(1))
    for side in ["left", "right"] { try b.put("Memo", side, ["title": .text(side)], in: side) }
    await b.store.sync()
    await a.store.sync()
    #expect(try a.ids(AnyQuery("Memo")) == ["left"])
    var configuration = SyncOptions.quiet
    configuration.scopes = [.container("left"), .container("right")]
    configuration.triggers = .start
    try a.restart(configuration: configuration)
    let store = a.store
    let running = Task { await store.run(clock: VirtualClock()) }
    try await until { try a.ids(AnyQuery("Memo")).count == 2 }
    running.cancel()
    await running.value
  }
}
