import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

/// What others deleted and wrote, when a device gives its records to a server.
@Suite("Uploads to servers that have changed", .timeLimit(.minutes(5)))
struct DeletedSinceTests {
  private typealias Place = GivingBackTests.Place

  private func insert(_ store: SyncedStore, _ ids: String...) async throws {
    try await store.store.write { transaction in
      for id in ids { try transaction.insert(Note(id: id, "old")) }
    }
    #expect(await store.sync().obstacle == nil)
  }

  private func edit(_ store: SyncedStore, _ id: String, _ change: @escaping @Sendable (inout Note) -> Void)
    async throws
  {
    try await store.store.write { _ = try $0.update(Note.self, id: id) { change(&$0) } }
    #expect(await store.sync().obstacle == nil)
  }

  private func delete(_ store: SyncedStore, _ id: String) async throws {
    try await store.store.write { _ = try $0.delete(Note.self, id: id) }
    #expect(await store.sync().obstacle == nil)
  }

  /// Returns a server with T0 to T2, and two devices that hold them.
  private func sharing(pageSize: Int = 1000) async throws -> (place: Place, a: SyncedStore, b: SyncedStore) {
    let place = try Place()
    let (a, b) = (
      try place.device("a", pageSize: pageSize), try place.device("b", pageSize: pageSize)
    )
    try await insert(a, "T0", "T1", "T2")
    #expect(await b.sync().obstacle == nil)
    return (place, a, b)
  }

  /// Promises: Scenario-18
  @Test(
    "A server that lost nothing gets no deleted record back", arguments: [false, true], [1, 1000])
  func healthy(isCompacted: Bool, pageSize: Int) async throws {
    let (place, a, b) = try await sharing(pageSize: pageSize)
    try await delete(a, "T1")
    try await edit(a, "T2") { $0.title = "newer" }
    if isCompacted { try await place.storage.compact(space: "test", upTo: 4) }
    let report = try await b.maintenance.uploadMine()
    #expect(report.obstacle == nil && report.givenBack.isEmpty && report.lost.isEmpty)
    #expect(report.pushed == 0)
    try await place.expectEven(a, b)
    #expect(try await place.titles() == ["T0": "old", "T2": "newer"])
  }

  @Test("A server without news ends a decision, and receives pending changes")
  func noNews() async throws {
    let (place, a, b) = try await sharing()
    try await b.store.write { _ = try $0.update(Note.self, id: "T0") { $0.title = "mine" } }
    #expect(try await b.maintenance.uploadMine().pushed == 1)
    #expect(try await b.maintenance.uploadMine().requests == 1)
    #expect(try await b.maintenance.adoptServer().obstacle == nil)
    try await place.expectEven(a, b)
    #expect(try await place.titles()["T0"] == "mine")
  }

  @Test("What was deleted on a restored server stays deleted", arguments: [1, 1000])
  func restored(pageSize: Int) async throws {
    let (place, a, b) = try await sharing(pageSize: pageSize)
    let backup = try await place.backup()
    try await insert(a, "late", "kept")
    #expect(await b.sync().obstacle == nil)
    try await place.restore(backup)
    #expect(try await a.maintenance.uploadMine().givenBack.count == 2)
    try await delete(a, "late")
    try await delete(a, "T1")
    let report = try await b.maintenance.uploadMine()
    #expect(report.obstacle == nil && report.givenBack.isEmpty)
    try await place.expectEven(a, b)
    #expect(try await place.titles() == ["T0": "old", "T2": "old", "kept": "old"])
  }

  @Test("What was deleted on a server that was rebuilt stays deleted", arguments: [false, true])
  func rebuilt(isEmptied: Bool) async throws {
    let (place, a, b) = try await sharing()
    try await edit(a, "T0") { $0.title = "edited" }
    try await insert(b, "mine")
    if isEmptied { try await place.storage.remove(space: "test") } else { try place.replace() }
    #expect(try await a.maintenance.uploadMine().obstacle == nil)
    try await delete(a, "T1")
    let report = try await b.maintenance.uploadMine()
    #expect(report.obstacle == nil && report.givenBack.contains(.note("mine")))
    try await place.expectEven(a, b)
    #expect(try await place.titles()["T1"] == nil)
    #expect(try await place.titles()["mine"] == "old")
  }

  @Test("A decision made again after a crash compares with the first server")
  func decidedAgain() async throws {
    let place = try Place()
    let first = try place.device("a")
    try await insert(first, "T0", "T1")
    try await edit(first, "T0") { $0.title = "mine" }
    try first.store.close()
    try place.replace()
    let there = try place.device("there")
    try await there.store.write { try $0.insert(Note(id: "T0", "theirs")) }
    #expect(await there.sync().obstacle == nil)
    try await insert(there, "U0", "U1")
    for step in 1...24 {
      let failPoints = FailPoints()
      let a = try place.device("a", pageSize: 1, failPoints: failPoints)
      failPoints.crash(at: step)
      _ = try? await a.maintenance.uploadMine()
      try a.store.close()
    }
    let a = try place.device("a")
    #expect(try await a.maintenance.uploadMine().obstacle == nil)
    try await place.expectEven(a, there)
    // The versions of two servers can't be compared, so the merge policy decides.
    #expect(try await place.titles() == ["T0": "theirs", "T1": "old", "U0": "old", "U1": "old"])
  }

  @Test(
    "Equal versions of two histories are two states, and the present one counts", arguments: [false, true])
  func equalVersions(isPending: Bool) async throws {
    let place = try Place()
    let (a, b) = (try place.device("a", .giveBack), try place.device("b"))
    try await a.store.write { try $0.insert(Note(id: "T0", "mine")) }
    #expect(await a.sync().obstacle == nil)
    try await place.storage.remove(space: "test")
    try await b.store.write { try $0.insert(Note(id: "T0", "theirs")) }
    #expect(await b.sync().obstacle == nil)
    if isPending { try await a.store.write { _ = try $0.update(Note.self, id: "T0") { $0.note = "n" } } }
    #expect(await a.sync().obstacle == nil)
    try await place.expectEven(a, b)
    #expect(try await place.titles() == ["T0": "theirs"])
    let lost = try a.journal.entries(losing: true).compactMap {
      try $0.lost?.members()["title"]?.stringValue
    }
    #expect(lost.contains("mine"))
  }
}
