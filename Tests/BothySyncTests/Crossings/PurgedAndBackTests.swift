import BothyStore
import BothySync
import BothyTesting
import Testing

/// Records that were removed from a device and come back from the server, and what is counted then.
@Suite("Records that return after a purge", .timeLimit(.minutes(5)))
struct PurgedAndBackTests {
  private let world: SimulatedWorld
  private let other: SimulatedDevice
  private let device: SimulatedDevice

  /// Creates a device that follows `shelf` alone. The server has three notes in `book`, which reads bring.
  init() async throws {
    world = try SimulatedWorld()
    other = try world.addDevice("other", schema: .notes)
    try other.change { transaction in
      for number in 0..<3 { try transaction.insert(Note(id: "T\(number)", "start"), in: "book") }
    }
    await other.store.sync()
    var configuration = SyncOptions.quiet
    configuration.scopes = [SyncScope(container: "shelf", includesChildren: true)]
    device = try world.addDevice("own", schema: .notes, configuration: configuration)
    await device.store.sync()
  }

  private func answer(_ policy: ReadPolicy, _ query: AnyQuery = AnyQuery("Note", container: "book"))
    async throws -> FetchResult<AnyRecord>
  {
    try await device.store.fetchResult(query, options: RequestOptions(readPolicy: policy))
  }

  @Test("A read that brings a purged record makes its container complete again")
  func readAgain() async throws {
    _ = try await answer(.remote)
    #expect(try await answer(.local).isComplete)
    try device.store.purge(.note("T0"))
    let without = try await answer(.local)
    #expect(without.records.count == 2 && !without.isComplete)
    _ = try await answer(.remote)
    let with = try await answer(.local)
    #expect(with.records.count == 3 && with.isComplete && with.age == .zero)
    #expect(try await device.store.count(AnyQuery("Note"), options: RequestOptions(readPolicy: .local)) == 3)
    #expect(await device.store.sync().pulled == 0)
    #expect(device.remote.requests.last?.operations.isEmpty == true)
  }

  @Test("A read of one purged record ends the mark of that one alone")
  func oneOfTwo() async throws {
    _ = try await answer(.remote)
    try device.store.purge([.note("T0"), .note("T1")])
    let one = AnyQuery("Note", where: .compare(field: "id", .equal, .text("T0")), container: "book")
    _ = try await answer(.remote, one)
    let found = try await answer(.local)
    #expect(found.records.map(\.id).sorted() == ["T0", "T2"] && !found.isComplete)
    _ = try await answer(.remote)
    #expect(try await answer(.local).isComplete)
  }

  @Test("A purged record that others deleted doesn't keep its container incomplete")
  func gone() async throws {
    _ = try await answer(.remote)
    try device.store.purge(.note("T0"))
    try other.remove("T0")
    await other.store.sync()
    _ = try await answer(.remote)
    let found = try await answer(.local)
    #expect(found.records.count == 2 && found.isComplete)
  }

  @Test("Nothing of a purged change is counted when its record is back")
  func pending() async throws {
    let pair = try await Pair.sharing(["T1", "T2"])
    let store = pair.a.store
    var counts = store.values(of: AnyQuery("Note")).makeAsyncIterator()
    #expect(try await counts.next()?.count == 2)
    try pair.a.retitle("given up")
    #expect(try await counts.next()?.count == 2)
    #expect(store.status.pendingCount == 1)
    try store.purge(.note(), includingPending: true)
    #expect(try await counts.next()?.count == 1)
    #expect(try store.pendingCounts().total == 0 && store.pendingByContainer().isEmpty)
    try pair.b.retitle("theirs")
    await pair.b.store.sync()
    let report = await store.sync()
    #expect(report.pushed == 0 && report.pulled == 1)
    #expect(try await counts.next()?.count == 2)
    #expect(try store.pendingCounts().total == 0 && store.status.pendingCount == 0)
    #expect(try store.containersNeedingSync().isEmpty)
    #expect(try await store.fetchResult(AnyQuery("Note")).isComplete)
    #expect(try pair.a.title() == "theirs")
    #expect(try await pair.isEven())
  }
}
