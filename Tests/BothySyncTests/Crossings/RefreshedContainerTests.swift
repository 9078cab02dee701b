import BothyLegacy
import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

@Suite("A refresh of a container that a record has left", .timeLimit(.minutes(5)))
struct RefreshedContainerTests {
  /// Moves a record on the server from one container to another, both of which the device follows.
  @Test("A refresh of its former container loses no record")
  func aRefreshOfItsFormerContainerLosesNothing() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1))
    let b = try world.device("b", memo(1))
    try b.put("Memo", "1", ["title": .text("one")], in: "left")
    await b.store.sync()
    await a.store.sync()
    let token = try await a.store.downloadChanges(in: "left").token
    let one = RecordID(type: "Memo", id: "1")
    try b.change { _ = try $0.move(one, to: "right") }
    await b.store.sync()
    await a.store.sync()
    #expect(try a.record("Memo", "1")?.container == "right")
    _ = try await a.store.downloadChanges(in: "left", since: token)
    await a.store.sync()
    #expect(try a.record("Memo", "1")?.container == "right")
    #expect(try await world.snapshot().unevenness == [])
    let found = try await a.store.fetchResult(AnyQuery("Memo"), options: .init(readPolicy: .local))
    #expect(found.records.count == 1 || !found.isComplete)
  }

  @Test("A record that a sync has removed isn't brought back by an older page")
  func olderPage() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1))
    let b = try world.device("b", memo(1))
    try b.put("Memo", "1", ["title": .text("one")], in: "left")
    await b.store.sync()
    await a.store.sync()
    let (calls, here, there) = (Calls(), a.store, b.store)
    a.remote.setDuringExchange {
      guard calls.add() == 1 else { return }
      do {
        try await there.write { _ = try $0.delete(RecordID(type: "Memo", id: "1")) }
      } catch { Issue.record(error) }
      await there.sync()
      await here.sync()
    }
    _ = try await a.store.downloadChanges(in: "left")
    await a.store.sync()
    #expect(try a.ids(AnyQuery("Memo")).isEmpty && calls.count > 2)
  }
}
