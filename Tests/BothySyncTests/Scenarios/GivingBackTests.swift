import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

/// The recovery when a server is another one, was restored, or lost everything.
@Suite("Recovery of lost server records", .timeLimit(.minutes(10)))
struct GivingBackTests {
  /// Devices that sync with the server that is currently in place.
  final class Place {
    let folder: TemporaryFolder
    let time = VirtualTime()
    let remote = SwitchedRemote()
    private(set) var storage: SQLiteServerStorage
    private var copies = 0

    init() throws {
      folder = try TemporaryFolder()
      storage = try SQLiteServerStorage(at: folder.path + "/server.sqlite")
      use(storage)
    }

    func use(_ storage: SQLiteServerStorage) {
      self.storage = storage
      remote.target = InProcessRemote(SyncService(storage: storage, now: time.reader()))
    }

    func device(
      _ name: String, _ restored: SyncOptions.RestorePolicy = .request, pageSize: Int = 1000,
      failPoints: FailPoints? = nil,
      scopes: [SyncScope] = [.everything], batchSize: Int = 500
    ) throws -> SyncedStore {
      var configuration = SyncOptions.quiet
      configuration.restored = restored
      configuration.pageSize = pageSize
      configuration.batchSize = batchSize
      configuration.scopes = scopes
      var options = StoreOptions(durability: .normal, processes: .single, readers: 2)
      if let failPoints { options.onStep = { try failPoints.pass($0, $1) } }
      return try SyncedStore(
        at: folder.path + "/\(name).sqlite", schema: .notes, remote: remote, configuration: configuration,
        options: options, clock: SyncClock(now: time.reader()))
    }

    func backup() async throws -> String {
      copies += 1
      let path = folder.path + "/backup\(copies).sqlite"
      try await storage.backup(to: path)
      return path
    }

    func restore(_ path: String) async throws {
      let restored = try SQLiteServerStorage(at: path)
      try await restored.startEpoch(space: "test")
      use(restored)
    }

    /// Replaces the server by one with another identity and no records.
    func replace() throws {
      copies += 1
      use(try SQLiteServerStorage(at: folder.path + "/other\(copies).sqlite"))
    }

    func server() async throws -> [String: [String: JSONValue]] {
      try await storage.read(space: "test") { storage in
        var found: [String: [String: JSONValue]] = [:]
        try storage.forEachRecord(in: .everything) { found[$0.record.id.id] = try $0.record.fields.members() }
        return found
      }
    }

    func titles() async throws -> [String: String] {
      try await server().compactMapValues { $0["title"]?.stringValue }
    }

    /// Checks that all devices have the server's records, without pending changes and findings.
    func expectEven(_ stores: SyncedStore..., sourceLocation: SourceLocation = #_sourceLocation) async throws
    {
      for store in stores + stores {
        let report = await store.sync()
        #expect(report.obstacle == nil, sourceLocation: sourceLocation)
      }
      let digest = try await remote.digest(.everything)
      for store in stores {
        #expect(try store.digest().digest == digest.digest, sourceLocation: sourceLocation)
        #expect(try store.outboxEntries().isEmpty, sourceLocation: sourceLocation)
        #expect(try store.rejectedEntries().isEmpty, sourceLocation: sourceLocation)
        #expect(try store.diagnose().findings.isEmpty, sourceLocation: sourceLocation)
      }
    }
  }

  private func write(_ store: SyncedStore, _ body: (WriteTransaction) throws -> Void) throws {
    try store.store.write(body)
  }

  private func insert(_ store: SyncedStore, _ ids: [String], _ title: String = "old") throws {
    try write(store) { transaction in for id in ids { try transaction.insert(Note(id: id, title)) } }
  }

  private func edit(_ store: SyncedStore, _ id: String, _ change: (inout Note) -> Void) throws {
    try write(store) { transaction in _ = try transaction.update(Note.self, id: id) { change(&$0) } }
  }

  /// Returns a restored server and two devices.
  ///
  /// `T0` to `T3` are in the backup. `late`, an edit and a count of `T1` and the deletion of `T3` came after it.
  private func restoredCase(
    _ policy: SyncOptions.RestorePolicy, pageSize: Int = 1000
  ) async throws -> (place: Place, a: SyncedStore, b: SyncedStore) {
    let place = try Place()
    let a = try place.device("a", policy, pageSize: pageSize)
    let b = try place.device("b", policy, pageSize: pageSize)
    try insert(a, ["T0", "T1", "T2", "T3"])
    for store in [a, b] { #expect(await store.sync().obstacle == nil) }
    let backup = try await place.backup()
    try edit(a, "T1") {
      $0.title = "new"
      $0.score += 3
    }
    try insert(a, ["late"], "new")
    try write(a) { _ = try $0.delete(Note.self, id: "T3") }
    for store in [a, b] { #expect(await store.sync().obstacle == nil) }
    try await place.restore(backup)
    return (place, a, b)
  }

  private static let whole = ["T0": "old", "T1": "new", "T2": "old", "late": "new"]

  @Test(
    "By policy several devices restore lost records once and without a conflict",
    arguments: [1, 1000])
  func byPolicy(pageSize: Int) async throws {
    let (place, a, b) = try await restoredCase(.giveBack, pageSize: pageSize)
    let first = await a.sync()
    let second = await b.sync()
    #expect(Set(first.givenBack.map(\.id)) == ["T1", "late"])
    for report in [first, second] {
      #expect(report.obstacle == nil && report.overwritten.isEmpty && report.rejected.isEmpty)
      #expect(report.lost.isEmpty)
    }
    try await place.expectEven(a, b)
    let titles = try await place.titles()
    #expect(titles.filter { $0.key != "T3" } == Self.whole)
    #expect(try await place.server()["T1"]?["score"] == 3)
  }

  @Test("Devices that pull before either has sent insert and count nothing twice")
  func atomic() async throws {
    let (place, a, b) = try await restoredCase(.giveBack)
    for store in [a, b] { #expect(await store.sync(.pull).givenBack.count == 2) }
    for store in [a, b, a] {
      let report = await store.sync()
      #expect(report.obstacle == nil && report.overwritten.isEmpty && report.rejected.isEmpty)
    }
    try await place.expectEven(a, b)
    #expect(try await place.server()["T1"]?["score"] == 3)
    #expect(try await place.titles().count == 5)
  }

  @Test("Changes and deletions of other devices after the restore count")
  func changedSince() async throws {
    let (place, a, b) = try await restoredCase(.giveBack)
    // B has pulled, but has not sent.
    #expect(await b.sync(.pull).givenBack.count == 2)
    #expect(await a.sync().obstacle == nil)
    try write(a) { _ = try $0.delete(Note.self, id: "late") }
    try edit(a, "T1") { $0.title = "later" }
    #expect(await a.sync().obstacle == nil)
    let report = await b.sync()
    #expect(report.obstacle == nil && report.rejected.isEmpty)
    // Its own insert of "late" gave way to the deletion.
    #expect(report.overwritten.map(\.record.id) == ["late"])
    try await place.expectEven(a, b)
    let titles = try await place.titles()
    #expect(titles["late"] == nil && titles["T1"] == "later")
    #expect(try await place.server()["T1"]?["score"] == 3)
  }

  @Test("An edit pending at the restore is merged on top of the restored record")
  func pendingEdit() async throws {
    let (place, a, b) = try await restoredCase(.giveBack)
    try edit(b, "T1") { $0.note = "mine" }
    try edit(b, "late") { $0.score += 1 }
    #expect(await a.sync().obstacle == nil)
    try edit(a, "late") { $0.score += 1 }
    #expect(await b.sync().overwritten.isEmpty)
    try await place.expectEven(a, b)
    let server = try await place.server()
    #expect(server["T1"]?["title"] == "new" && server["T1"]?["note"] == "mine")
    #expect(server["T1"]?["score"] == 3 && server["late"]?["score"] == 2)
  }

  @Test("By default a restored server waits for a decision, then receives lost records")
  func asked() async throws {
    let (place, a, b) = try await restoredCase(.request)
    for store in [a, b] { #expect(await store.sync().stop?.name == "otherServer") }
    #expect(try await place.titles()["late"] == nil)
    #expect(try await a.maintenance.uploadMine().givenBack.count == 2)
    // No record is missing now, so the other device needs no decision.
    #expect(await b.sync().obstacle == nil)
    try await place.expectEven(a, b)
    #expect(try await place.titles().filter { $0.key != "T3" } == Self.whole)
  }

  @Test("By policy a restored server is adopted, and its lost records are reported")
  func adopted() async throws {
    let (place, a, b) = try await restoredCase(.adopt)
    let report = await a.sync()
    #expect(report.obstacle == nil && Set(report.lost.map(\.id)) == ["T1", "late"])
    try await place.expectEven(a, b)
    #expect(try await place.titles() == ["T0": "old", "T1": "old", "T2": "old", "T3": "old"])
  }

  @Test("A record restored by an outdated device does not silently replace a newer state")
  func behind() async throws {
    let place = try Place()
    let a = try place.device("a", .giveBack)
    let b = try place.device("b", .giveBack)
    try insert(a, ["T0"])
    for store in [a, b] { _ = await store.sync() }
    let backup = try await place.backup()
    try insert(a, ["late"], "first")
    for store in [a, b] { _ = await store.sync() }
    try edit(a, "late") { $0.title = "second" }
    try insert(a, ["last"])
    _ = await a.sync()
    try await place.restore(backup)
    #expect(await b.sync().givenBack.map(\.id) == ["late"])
    let report = await a.sync()
    #expect(report.givenBack.map(\.id) == ["last"])
    #expect(report.overwritten.map(\.record.id) == ["late"])
    #expect(try report.overwritten.first?.fields?.members()["title"] == "second")
    try await place.expectEven(a, b)
  }

  @Test("A lost server is rebuilt from two devices, each with a part", arguments: [1, 1000])
  func rebuilt(pageSize: Int) async throws {
    let place = try Place()
    let a = try place.device("a", pageSize: pageSize)
    let b = try place.device("b", pageSize: pageSize)
    try insert(a, (0..<20).map { "A\($0)" })
    for store in [a, b, a] { _ = await store.sync() }
    try insert(b, ["B"])
    _ = await b.sync()
    try edit(b, "A3") { $0.title = "pending" }
    try edit(a, "A4") { $0.score += 2 }
    _ = await a.sync()
    try place.replace()
    for store in [a, b] { #expect(await store.sync().stop?.name == "otherServer") }
    #expect(try await a.maintenance.uploadMine().givenBack.count == 21)
    #expect(try await place.titles().count == 21)
    let report = try await b.maintenance.uploadMine()
    #expect(report.obstacle == nil && report.rejected.isEmpty)
    try await place.expectEven(a, b)
    #expect(try await place.titles().count == 21)
    #expect(try await place.titles()["A3"] == "pending")
    #expect(try await place.server()["A4"]?["score"] == 2)
    // A second upload inserts nothing twice.
    #expect(try await a.maintenance.uploadMine().pushed == 0)
    try await place.expectEven(a, b)
  }

  @Test("An emptied space receives all records again by policy")
  func emptied() async throws {
    let place = try Place()
    let a = try place.device("a", .giveBack)
    try insert(a, ["T0", "T1"])
    _ = await a.sync()
    try await place.storage.remove(space: "test")
    #expect(await a.sync().givenBack.count == 2)
    try await place.expectEven(a)
    #expect(try await place.titles().count == 2)
  }

  @Test(
    "A file separated from a wrong server sends nothing and recovers with its own")
  func wrongAddress() async throws {
    let place = try Place()
    let own = place.storage
    let a = try place.device("a", .giveBack)
    try insert(a, ["T0", "T1"])
    _ = await a.sync()
    try insert(a, ["mine"])
    try place.replace()
    #expect(await a.sync().stop?.name == "otherServer")
    try await a.maintenance.keepApart()
    #expect(try await a.maintenance.isKeptApart())
    let again = try place.device("a", .giveBack)
    let report = await again.sync()
    #expect(
      report.stop
        == .otherServer(
          "The file is kept apart from the server that answers. It can be read and written; nothing is sent or removed."
        ))
    #expect(report.requests == 1)
    #expect(try await again.store.fetch(RecordQuery<Note>()).count == 3)
    #expect(try await place.titles().isEmpty)
    place.use(own)
    #expect(await again.sync().pushed == 1)
    #expect(try await !again.maintenance.isKeptApart())
    try await place.expectEven(again)
  }

  @Test("The merge policy decides about different contents on another server and reports losers")
  func otherContent() async throws {
    let place = try Place()
    let a = try place.device("a")
    try insert(a, ["T0", "T1", "T2"])
    try edit(a, "T1") { $0.score = 4 }
    _ = await a.sync()
    try place.replace()
    let there = try place.device("there")
    try insert(there, ["T0"])
    try insert(there, ["T1"], "theirs")
    try edit(there, "T1") { $0.score = 5 }
    _ = await there.sync()
    let report = try await a.maintenance.uploadMine()
    #expect(report.obstacle == nil)
    #expect(Set(report.givenBack.map(\.id)) == ["T1", "T2"])
    #expect(report.overwritten.map(\.record.id) == ["T1"])
    try await place.expectEven(a, there)
    #expect(try await place.titles() == ["T0": "old", "T1": "theirs", "T2": "old"])
    #expect(try await place.server()["T1"]?["score"] == 5)
  }

  @Test("Records outside all subscriptions are uploaded too")
  func unfollowed() async throws {
    let place = try Place()
    let a = try place.device("a", scopes: [SyncScope(container: "book/1", includesChildren: true)])
    try write(a) { transaction in
      try transaction.insert(Note(id: "T0", "here"), in: "book/1")
      try transaction.insert(Note(id: "T1", "there"), in: "book/2")
    }
    _ = await a.sync()
    try place.replace()
    #expect(await a.sync().stop?.name == "otherServer")
    #expect(try await a.maintenance.uploadMine().obstacle == nil)
    #expect(try await place.titles() == ["T0": "here", "T1": "there"])
    #expect(try a.outboxEntries().isEmpty)
  }

  @Test(
    "An upload killed at any step is finished by a later sync, without duplicates",
    arguments: [true, false])
  func killed(isOther: Bool) async throws {
    for step in 1... {
      let place = try Place()
      let failPoints = FailPoints()
      let a = try place.device("a", pageSize: 2, failPoints: failPoints, batchSize: 2)
      try insert(a, ["T0", "T1"])
      _ = await a.sync()
      let backup = try await place.backup()
      try insert(a, ["T2", "T3", "T4"], "late")
      try edit(a, "T1") { $0.score += 2 }
      _ = await a.sync()
      if isOther { try place.replace() } else { try await place.restore(backup) }
      #expect(await a.sync().stop?.name == "otherServer")
      failPoints.crash(at: step)
      _ = try? await a.maintenance.uploadMine()
      let hasCrashed = failPoints.hasCrashed
      try a.store.close()
      failPoints.reset()
      let again = try place.device("a", pageSize: 2, batchSize: 2)
      if await again.sync().stop?.name == "otherServer" { _ = try await again.maintenance.uploadMine() }
      try await place.expectEven(again)
      #expect(
        try await place.titles() == ["T0": "old", "T1": "old", "T2": "late", "T3": "late", "T4": "late"])
      #expect(try await place.server()["T1"]?["score"] == 2)
      guard hasCrashed else { break }
    }
  }
}
