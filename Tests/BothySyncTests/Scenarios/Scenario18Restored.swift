import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

/// A server that was restored from an older backup, or lost everything.
@Suite("Restored and emptied servers", .timeLimit(.minutes(5)))
struct Scenario18Restored {
  /// A world whose server can be restored. Devices sync with the storage that is in place.
  private struct Servers {
    let folder: TemporaryFolder
    let time = VirtualTime()
    let remote: SwitchedRemote
    private(set) var storage: SQLiteServerStorage

    init() throws {
      folder = try TemporaryFolder()
      storage = try SQLiteServerStorage(at: folder.path + "/first.sqlite")
      remote = SwitchedRemote()
      use(storage)
    }

    private func use(_ storage: SQLiteServerStorage) {
      remote.target = InProcessRemote(SyncService(storage: storage, now: time.reader()))
    }

    func device(_ name: String, _ policy: MergePolicy) throws -> SyncedStore {
      var configuration = SyncOptions.quiet
      configuration.merging = MergePolicies(default: policy)
      configuration.pageSize = 3
      return try SyncedStore(
        at: folder.path + "/\(name).sqlite", schema: .notes, remote: remote, configuration: configuration,
        options: StoreOptions(processes: .single), clock: SyncClock(now: time.reader()))
    }

    func backup() async throws { try await storage.backup(to: folder.path + "/backup.sqlite") }

    /// Puts the backup in place of the storage. `announced` is true if the restore starts a new epoch, as it should.
    mutating func restore(announced: Bool) async throws {
      storage = try SQLiteServerStorage(at: folder.path + "/backup.sqlite")
      if announced { try await storage.startEpoch(space: "test") }
      use(storage)
    }

    /// Restarts the server on its existing file.
    mutating func reopen() throws {
      try storage.close()
      storage = try SQLiteServerStorage(at: folder.path + "/backup.sqlite")
      use(storage)
    }

    mutating func empty() throws {
      storage = try SQLiteServerStorage(at: folder.path + "/empty.sqlite")
      use(storage)
    }

    func digest() async throws -> ScopeDigest { try await remote.digest(.everything) }
  }

  /// Performs one transaction of the app.
  private func change(_ store: SyncedStore, _ body: (WriteTransaction) throws -> Void) throws {
    try store.store.write(body)
  }

  private func note(_ store: SyncedStore, _ id: String) throws -> Note? {
    try store.store.fetch(Note.self, id: id)
  }

  private func isEven(_ servers: Servers, _ stores: [SyncedStore]) async throws -> Bool {
    for store in stores + stores { #expect(await store.sync().obstacle == nil) }
    let digest = try await servers.digest()
    return try stores.allSatisfy { try $0.digest().digest == digest.digest && $0.outboxEntries().isEmpty }
  }

  /// Promises: Scenario-18, H-11
  @Test("An unannounced restore is noticed even after other devices wrote as much again")
  func overtaken() async throws {
    var servers = try Servers()
    let (a, b) = (try servers.device("a", .fieldByField), try servers.device("b", .fieldByField))
    try change(b) { try $0.insert(Note(id: "T1", "old")) }
    #expect(try await isEven(servers, [b, a]))
    try await servers.backup()
    try change(a) { transaction in
      for number in 2..<5 { try transaction.insert(Note(id: "T\(number)", "new")) }
    }
    #expect(try await isEven(servers, [a, b]))
    // A validator that was reset loses the cursor, but keeps the last position.
    try b.resetValidator(of: "Note")
    try await servers.restore(announced: false)
    let stranger = try servers.device("c", .fieldByField)
    try change(stranger) { transaction in
      for number in 10..<20 { try transaction.insert(Note(id: "T\(number)", "theirs")) }
    }
    #expect(await stranger.sync().obstacle == nil)
    try change(a) { try $0.insert(Note(id: "mine", "pending")) }
    for store in [a, b] {
      for _ in 0..<2 { #expect(await store.sync().stop?.name == "otherServer") }
      #expect(try note(store, "T2")?.title == "new")
      try await store.maintenance.adoptServer()
      let report = await store.sync()
      #expect(report.obstacle == nil)
    }
    #expect(try await isEven(servers, [a, b, stranger]))
    #expect(try note(b, "mine")?.title == "pending" && note(b, "T10")?.title == "theirs")
    // Opening the same file again isn't a restore.
    try servers.reopen()
    try change(a) { try $0.insert(Note(id: "later", "x")) }
    #expect(try await isEven(servers, [a, b, stranger]))
  }

  /// Promises: Scenario-18, H-11
  @Test(
    "An adopted server that was restored is synced, and unsynced edits stay",
    arguments: [false, true])
  func restored(announced: Bool) async throws {
    var servers = try Servers()
    let a = try servers.device("a", .fieldByField)
    let b = try servers.device("b", .fieldByField)
    try change(b) { transaction in
      for number in 0..<8 { try transaction.insert(Note(id: "T\(number)", "old")) }
    }
    #expect(try await isEven(servers, [b, a]))
    try await servers.backup()
    // After the backup: changes that the restored server doesn't know.
    try change(b) { transaction in
      _ = try transaction.update(Note.self, id: "T1") { $0.title = "after the backup" }
      _ = try transaction.update(Note.self, id: "T2") { $0.title = "after the backup" }
      _ = try transaction.delete(Note.self, id: "T3")
      try transaction.insert(Note(id: "late", "after the backup"))
    }
    #expect(try await isEven(servers, [b, a]))
    try change(a) { transaction in
      _ = try transaction.update(Note.self, id: "T2") { $0.note = "mine" }
      _ = try transaction.update(Note.self, id: "T4") { $0.note = "mine" }
      _ = try transaction.delete(Note.self, id: "T5")
      try transaction.insert(Note(id: "mine", "made here"))
    }
    try await servers.restore(announced: announced)
    // No record is restored before the app decides.
    for scope in [SyncDirection.pull, .push, .both] {
      #expect(await a.sync(scope).stop?.name == "otherServer")
    }
    #expect(try note(a, "T1")?.title == "after the backup")
    #expect(try note(a, "late") != nil)
    #expect(try await servers.remote.query(AnyQuery("Note")).count == 8)
    try await a.store.write { try $0.insert(Note(id: "later", "made meanwhile")) }
    // Every device has to compare before the server has passed its known position. Later only a digest finds the loss.
    #expect(try await b.maintenance.adoptServer().rebased == [.everything])
    let pull = try await a.maintenance.adoptServer()
    #expect(pull.obstacle == nil)
    #expect(pull.rebased == [.everything])
    #expect(Set(pull.lost.map(\.id)).isSuperset(of: ["T1", "late"]))
    // The server's older state counts for records without pending changes.
    #expect(try note(a, "T1")?.title == "old")
    #expect(try note(a, "T3")?.title == "old")
    #expect(try note(a, "late") == nil)
    #expect(try a.outboxEntries().isEmpty)
    #expect(try note(a, "T2")?.note == "mine")
    #expect(try await isEven(servers, [a, b]))
    let server = try await servers.remote.query(AnyQuery("Note"))
    let fields = try Dictionary(uniqueKeysWithValues: server.map { ($0.id.id, try $0.fields.members()) })
    for id in ["T2", "T4"] { #expect(fields[id]?["note"] == "mine") }
    #expect(fields["T5"] == nil)
    #expect(fields["mine"]?["title"] == "made here")
    #expect(try await a.maintenance.repairs().map(\.isEqual) == [true])
  }

  /// Promises: Scenario-18
  @Test(
    "An emptied server is refused, and receives unsynced edits once adopted",
    arguments: [MergePolicy.localWins, .remoteWins])
  func emptied(policy: MergePolicy) async throws {
    var servers = try Servers()
    let a = try servers.device("a", policy)
    let b = try servers.device("b", policy)
    try change(b) { transaction in
      for number in 0..<5 { try transaction.insert(Note(id: "T\(number)", "old")) }
    }
    #expect(try await isEven(servers, [b, a]))
    try change(a) { transaction in
      _ = try transaction.update(Note.self, id: "T1") { $0.note = "mine" }
      try transaction.insert(Note(id: "mine", "made here"))
    }
    try servers.empty()
    #expect(await a.sync().stop?.name == "otherServer")
    #expect(try await a.store.fetch(RecordQuery<Note>()).count == 6)
    #expect(try await servers.remote.query(AnyQuery("Note")).isEmpty)
    let report = try await a.maintenance.adoptServer()
    #expect(report.rebased == [.everything])
    #expect(Set(report.lost.map(\.id)) == ["T0", "T1", "T2", "T3", "T4"])
    #expect(report.overwritten.isEmpty)
    #expect(try await b.maintenance.adoptServer().obstacle == nil)
    #expect(try await isEven(servers, [a, b]))
    #expect(try note(a, "T1")?.note == "mine")
    #expect(try note(a, "mine") != nil)
    #expect(try await a.store.fetch(RecordQuery<Note>()).count == 2)
  }

  /// Promises: Scenario-18
  @Test(
    "An unannounced restore is noticed though the server has passed all cursors"
  )
  func unnoticed() async throws {
    var servers = try Servers()
    let a = try servers.device("a", .remoteWins)
    let b = try servers.device("b", .remoteWins)
    try change(b) { transaction in
      for number in 0..<5 { try transaction.insert(Note(id: "T\(number)", "old")) }
    }
    #expect(try await isEven(servers, [b, a]))
    try await servers.backup()
    try change(b) { _ = try $0.update(Note.self, id: "T1") { $0.title = "after the backup" } }
    #expect(try await isEven(servers, [b, a]))
    try await servers.restore(announced: false)
    let other = try servers.device("other", .remoteWins)
    try change(other) { transaction in
      for number in 0..<9 { try transaction.insert(Note(id: "U\(number)", "new")) }
    }
    _ = await other.sync()
    #expect(await a.sync().stop?.name == "otherServer")
    #expect(try note(a, "T1")?.title == "after the backup")
    let adopted = try await a.maintenance.adoptServer()
    #expect(adopted.obstacle == nil && adopted.lost == [.note("T1")])
    #expect(try note(a, "T1")?.title == "old" && note(a, "U8")?.title == "new")
  }
  private static let deep = #"{"meta":"# + UnreadableRecordStories.nested(200) + #","title":"deep"}"#

  /// Stores the note T1 without checks, as an older server may have done.
  private func plant(_ fields: String, in servers: Servers) async throws {
    let document = FieldsDocument(canonical: Array(fields.utf8))
    try await servers.storage.write(space: "test") { storage in
      let record = ServerRecord(
        id: .note("T1"), version: String(storage.head + 1), modified: 1, fields: document)
      try storage.put([StoredRecord(position: storage.head + 1, record: record)])
    }
  }

  @Test("A record that an adopted server mends later is shown", arguments: [false, true])
  func mendedLater(givesBack: Bool) async throws {
    var servers = try Servers()
    let a = try servers.device("a", .fieldByField)
    for title in ["one", "two", "three"] { try await plant(#"{"title":"\#(title)"}"#, in: servers) }
    #expect(await a.sync().obstacle == nil)
    try servers.empty()
    try await plant(Self.deep, in: servers)
    let decided = try await givesBack ? a.maintenance.uploadMine() : a.maintenance.adoptServer()
    #expect(decided.obstacle == nil && decided.unreadable.map(\.record) == [.note("T1")])
    #expect(try note(a, "T1")?.title == "three")
    // The new server counts from one, so that this version is lower than that of the row on the former one.
    try await plant(#"{"title":"mended"}"#, in: servers)
    #expect(await a.sync().obstacle == nil)
    #expect(try note(a, "T1")?.title == "mended")
    #expect(try await a.maintenance.unreadableRecords().isEmpty)
  }

  @Test("An unreadable record of a restored server stops no decision", arguments: [false, true])
  func unreadable(givesBack: Bool) async throws {
    var servers = try Servers()
    let a = try servers.device("a", .fieldByField)
    try await plant(Self.deep, in: servers)
    try await servers.backup()
    try await plant(#"{"title":"mended"}"#, in: servers)
    #expect(await a.sync().obstacle == nil)
    try await servers.restore(announced: false)
    #expect(await a.sync().stop?.name == "otherServer")
    let decided = try await givesBack ? a.maintenance.uploadMine() : a.maintenance.adoptServer()
    #expect(decided.obstacle == nil)
    #expect(await a.sync().obstacle == nil)
    #expect(try await a.maintenance.unreadableRecords().map(\.record) == [.note("T1")])
    #expect(try note(a, "T1")?.title == "mended")
  }

  @Test(
    "An edit beside an unreadable record of an adopted server stops no decision", arguments: [false, true])
  func editBesideUnreadable(givesBack: Bool) async throws {
    var servers = try Servers()
    let a = try servers.device("a", .fieldByField)
    try await plant(#"{"title":"one"}"#, in: servers)
    #expect(await a.sync().obstacle == nil)
    try change(a) { _ = try $0.update(Note.self, id: "T1") { $0.note = "mine" } }
    // The new server counts from one, so that this version is that of the edit's base.
    try servers.empty()
    try await plant(Self.deep, in: servers)
    let decided = try await givesBack ? a.maintenance.uploadMine() : a.maintenance.adoptServer()
    #expect(decided.obstacle == nil && decided.unreadable.map(\.record).contains(.note("T1")))
    #expect(try note(a, "T1")?.title == "one" && note(a, "T1")?.note == "mine")
    try await plant(#"{"title":"mended"}"#, in: servers)
    for _ in 0..<2 { #expect(await a.sync().obstacle == nil) }
    #expect(try note(a, "T1")?.title == "mended" && note(a, "T1")?.note == "mine")
    #expect(try a.outboxEntries().isEmpty)
  }

  @Test("A doubt from before another server was adopted brings back no old state")
  func doubt() async throws {
    var servers = try Servers()
    let (a, b) = (try servers.device("a", .fieldByField), try servers.device("b", .fieldByField))
    try change(b) { try $0.insert(Note(id: "T1", "one")) }
    for title in ["two", "three"] {
      try change(b) { _ = try $0.update(Note.self, id: "T1") { $0.title = title } }
      #expect(try await isEven(servers, [b, a]))
    }
    servers.remote.target = nil
    try await saveUnanswered("first", a)
    try servers.empty()
    #expect(try await b.maintenance.uploadMine().obstacle == nil)
    #expect(try await a.maintenance.adoptServer().obstacle == nil)
    // The new server counts from one, so this version is older than the base of the doubt, or equal.
    try change(b) { _ = try $0.update(Note.self, id: "T1") { $0.title = "later" } }
    for store in [b, a] { #expect(await store.sync().obstacle == nil) }
    let target = servers.remote.target
    servers.remote.target = nil
    try await saveUnanswered("second", a)
    #expect(try note(a, "T1")?.title == "later")
    servers.remote.target = target
    #expect(try await isEven(servers, [a, b]))
  }

  /// Saves a text of T1 on the server alone, which can't be reached.
  private func saveUnanswered(_ text: String, _ store: SyncedStore) async throws {
    var found = try #require(try note(store, "T1"))
    found.note = text
    let value = found
    let error = await #expect(throws: BothyError.self) {
      try await store.save(value, options: .saving(.remote))
    }
    #expect(error?.code == .unreachable)
  }

  @Test("A draft on a record of an adopted server hears of later changes there", arguments: [false, true])
  func draft(isEdited: Bool) async throws {
    var servers = try Servers()
    let (a, b) = (try servers.device("a", .fieldByField), try servers.device("b", .fieldByField))
    try change(b) { try $0.insert(Note(id: "T1", "one")) }
    #expect(try await isEven(servers, [b, a]))
    try change(b) { _ = try $0.update(Note.self, id: "T1") { $0.title = "two" } }
    #expect(try await isEven(servers, [b, a]))
    try await a.writeDraft { _ = try $0.update(Note.self, id: "T1") { $0.note = "draft" } }
    try servers.empty()
    if isEdited { try change(b) { _ = try $0.update(Note.self, id: "T1") { $0.title = "three" } } }
    #expect(try await b.maintenance.uploadMine().obstacle == nil)
    #expect(try await a.maintenance.adoptServer().obstacle == nil)
    // The new server counts from one, so this version is older than the draft's base on the former one, or equal.
    try change(b) { _ = try $0.update(Note.self, id: "T1") { $0.title = "later" } }
    for store in [b, a] { #expect(await store.sync().obstacle == nil) }
    #expect(try a.resolve(.note("T1"), .revert))
    #expect(try note(a, "T1")?.title == "later")
    #expect(try await isEven(servers, [a, b]))
  }
}
