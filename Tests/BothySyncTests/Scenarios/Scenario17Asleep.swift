import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// Scenario 17: a device that was away for longer than the server remembers deletions.
@Suite("Scenario 17", .timeLimit(.minutes(5)))
struct Scenario17Asleep {
  /// Promises: Scenario-17
  @Test(
    "Scenario 17: a device asleep past the forgetting of tombstones is told to start over, shows no zombies and keeps its unsynced edits",
    arguments: [1, 1000])
  func asleep(pageSize: Int) async throws {
    let ids = (0..<12).map { "T\(100 + $0)" }
    let pair = try await Pair.sharing(ids, policy: .clientWins) { $0.pageSize = pageSize }
    let a = pair.a
    // While it is away others delete, edit and make; the server forgets the deletions.
    for id in ["T100", "T101", "T102"] { try pair.b.remove(id) }
    try pair.b.retitle("T103", "theirs")
    try pair.b.insert("T200", "new")
    await pair.b.store.sync()
    let head = try await pair.world.ledger.read(space: "test") { $0.head }
    try await pair.world.ledger.compact(space: "test", upTo: head)
    // Its own edits: of a record deleted there, of one edited there, of one untouched; a deletion and a new one.
    try a.edit("T102") { $0.note = "mine" }
    try a.edit("T103") { $0.note = "mine" }
    try a.edit("T104") { $0.note = "mine" }
    try a.remove("T105")
    try a.insert("T300", "made here")
    let pull = await a.store.sync(.pull)
    #expect(pull.rebased == [.space])
    #expect(try a.note("T100") == nil && a.note("T101") == nil)
    #expect(try a.store.outbox().count == 5)
    #expect(try a.note("T102")?.note == "mine" && a.note("T105") == nil && a.title("T300") == "made here")
    await a.store.sync()
    for id in ["T102", "T103", "T104"] { #expect(try await pair.server(id)?["note"] == "mine") }
    #expect(try await pair.server("T105") == nil)
    #expect(try await pair.serverTitle("T300") == "made here")
    #expect(try await pair.isEven())
    #expect(try await a.store.repair().map(\.isEqual) == [true])
    // From here on it pulls what changes, as before.
    #expect(await a.store.sync().rebased.isEmpty)
  }
}
