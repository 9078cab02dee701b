import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

@Suite("Work given back and exported", .faultsStrike, .timeLimit(.minutes(5)))
struct GivenBackAndExportedTests {
  @Test("Content given back counts once and isn't an edit, also after an export")
  func once() async throws {
    let place = try GivingBackTests.Place()
    let faulty = FaultyRemote(place.remote)
    let path = place.folder.path + "/a.sqlite"
    let a = try SyncedStore(at: path, schema: .notes, remote: faulty, configuration: .quiet)
    let b = try place.device("b")
    try await a.store.write { try $0.insert(Note(id: "T0", "kept")) }
    await a.sync()
    await b.sync()
    let backup = try await place.backup()
    var counted = Note(id: "T1", "old")
    counted.score = 5
    let late = counted
    try await a.store.write { try $0.insert(late) }
    await a.sync()
    await b.sync()
    try await place.restore(backup)
    faulty.plan(.lostRequest, on: .operations)
    _ = try await a.maintenance.uploadMine()
    #expect(try a.outboxEntries().map(\.id.id) == ["T1"])
    let document = place.folder.path + "/pending.json"
    try await a.signOut(.export(to: document))
    faulty.setScript { .none }
    _ = try await b.maintenance.uploadMine()
    try await b.store.write { _ = try $0.update(Note.self, id: "T1") { ($0.title, $0.score) = ("new", 7) } }
    await b.sync()
    try SyncedStore.restorePending(from: document, into: path, schema: .notes)
    let again = try SyncedStore(at: path, schema: .notes, remote: faulty, configuration: .quiet)
    try await place.expectEven(again, b)
    #expect(try await place.server()["T1"] == ["title": "new", "score": 7])
    #expect(try again.journal.entries(losing: true).isEmpty)
  }
}
