import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// A device that was away for longer than the server remembers deletions.
@Suite("Devices that were away for long", .timeLimit(.minutes(5)))
struct Scenario17Asleep {
  /// Promises: Scenario-17
  @Test(
    "A device away past tombstone expiry starts over and keeps its unsynced edits",
    arguments: [1, 1000])
  func asleep(pageSize: Int) async throws {
    let ids = (0..<12).map { "T\(100 + $0)" }
    let pair = try await Pair.sharing(ids, policy: .localWins) { $0.pageSize = pageSize }
    let a = pair.a
    // While it is away, other devices delete, edit and insert, and the server forgets the deletions.
    for id in ["T100", "T101", "T102"] { try pair.b.remove(id) }
    try pair.b.retitle("T103", "theirs")
    try pair.b.insert("T200", "new")
    await pair.b.store.sync()
    let head = try await pair.world.storage.read(space: "test") { $0.head }
    try await pair.world.storage.compact(space: "test", upTo: head)
    // The device's own changes: edits of a deleted, an edited and an untouched record, a deletion and a new record.
    try a.edit("T102") { $0.note = "mine" }
    try a.edit("T103") { $0.note = "mine" }
    try a.edit("T104") { $0.note = "mine" }
    try a.remove("T105")
    try a.insert("T300", "made here")
    let pull = await a.store.sync(.pull)
    #expect(pull.rebased == [.everything])
    #expect(try a.note("T100") == nil && a.note("T101") == nil)
    #expect(try a.store.outboxEntries().count == 5)
    #expect(try a.note("T102")?.note == "mine" && a.note("T105") == nil && a.title("T300") == "made here")
    await a.store.sync()
    for id in ["T102", "T103", "T104"] { #expect(try await pair.server(id)?["note"] == "mine") }
    #expect(try await pair.server("T105") == nil)
    #expect(try await pair.serverTitle("T300") == "made here")
    #expect(try await pair.isEven())
    #expect(try await a.store.maintenance.repairs().map(\.isEqual) == [true])
    // From here on it pulls changes, as before.
    #expect(await a.store.sync().rebased.isEmpty)
  }
}
