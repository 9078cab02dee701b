import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

/// A device with a folder of accounts, and the server that all of them use.
struct AccountDevice {
  let service: SyncService
  let folder: AccountFolder
  let temporary: TemporaryFolder
  let time = VirtualTime()

  static let ann = AccountID(space: "hut", user: "ann")
  static let bob = AccountID(space: "hut", user: "bob")

  init(schema: StoreSchema = .notes) throws {
    service = SyncService(storage: try SQLiteServerStorage(), now: time.reader())
    temporary = try TemporaryFolder()
    folder = Self.folder(temporary, schema, [], time)
  }

  static func folder(
    _ temporary: TemporaryFolder, _ schema: StoreSchema, _ migrations: [Migration], _ time: VirtualTime
  ) -> AccountFolder {
    AccountFolder(
      at: temporary.path + "/accounts", schema: schema, migrations: migrations, configuration: .quiet,
      options: StoreOptions(durability: .normal, processes: .single, readers: 1),
      clock: { SyncClock(now: time.reader()) })
  }

  func remote(_ id: AccountID) -> FaultyRemote {
    FaultyRemote(InProcessRemote(service, space: id.space, user: Caller(id.user)))
  }

  func open(_ id: AccountID, importing document: String? = nil) throws -> (
    account: Account, remote: FaultyRemote
  ) {
    let remote = remote(id)
    return (try folder.open(id, remote: remote, importing: document), remote)
  }

  /// Returns the titles on the server, each with the owner of its record.
  func served() async throws -> [String: String] {
    try await service.storage.read(space: "hut") { storage in
      var titles: [String: String] = [:]
      try storage.forEachRecord(in: .everything) { entry in
        guard let title = try entry.record.fields.members()["title"]?.stringValue else { return }
        titles[title] = entry.record.owner
      }
      return titles
    }
  }
}

@Suite("Accounts", .faultsStrike, .timeLimit(.minutes(5)))
struct AccountTests {
  private let ann = AccountDevice.ann
  private let bob = AccountDevice.bob

  private func insert(_ id: String, in account: Account) throws {
    try account.store.store.write { try $0.insert(Note(id: id, id)) }
  }

  /// Promises: N-8, N-36, H-53
  @Test(
    "Pending work is hidden from other users and sent when its user returns"
  )
  func userSwitch() async throws {
    let device = try AccountDevice()
    let first = try device.open(ann)
    for id in ["a1", "a2", "a3"] { try insert(id, in: first.account) }
    #expect(try await first.account.signOut(.park) == 3)
    let other = try device.open(bob)
    try insert("b1", in: other.account)
    #expect(try await other.account.store.store.fetch(RecordQuery<Note>()).map(\.id) == ["b1"])
    #expect(await other.account.store.sync().pushed == 1)
    #expect(other.remote.requests.flatMap(\.operations).map(\.record.id) == ["b1"])
    #expect(try await device.served() == ["b1": "bob"])
    #expect(try device.folder.accounts().first { $0.id == ann }?.pending.total == 3)
    try await other.account.signOut(.refuseIfPending)
    let back = try device.open(ann)
    #expect(try back.account.store.pendingCounts().insert == 3)
    #expect(await back.account.store.sync().pushed == 3)
    #expect(try await device.served() == ["a1": "ann", "a2": "ann", "a3": "ann", "b1": "bob"])
    #expect(try device.folder.accounts().map(\.id) == [ann])
  }

  @Test("An account whose sign-out was interrupted is no longer listed")
  func interrupted() throws {
    let device = try AccountDevice()
    let account = try device.open(ann).account
    try insert("a1", in: account)
    try account.store.store.write(origin: .remote) { transaction in
      try PreparedStatement("INSERT INTO bothy_sync VALUES ('signedOut', '1')", in: transaction.database)
        .run()
    }
    try account.store.store.close()
    #expect(try device.folder.accounts().isEmpty)
  }

  /// Promises: N-8
  @Test("Opening another user's file throws a typed error and leaves it unchanged")
  func wrongAccount() async throws {
    let device = try AccountDevice()
    let path = device.temporary.path + "/one.bothy"
    func open(_ id: AccountID?) throws -> SyncedStore {
      try SyncedStore(at: path, schema: .notes, remote: device.remote(ann), owner: id, configuration: .quiet)
    }
    let store = try open(ann)
    try await store.store.write { try $0.insert(Note(id: "a1", "a1")) }
    try store.store.close()
    for other in [bob, AccountID(space: "barn", user: "ann")] {
      let error = #expect(throws: BothyError.self) { _ = try open(other) }
      #expect(error?.code == .wrongAccount)
    }
    let again = try open(nil)
    #expect(again.owner == ann)
    #expect(try again.pendingCounts().total == 1)
  }

  @Test("Another user's file is refused before it is migrated or set aside")
  func refusedBeforeMigration() async throws {
    let device = try AccountDevice()
    let path = device.temporary.path + "/one.bothy"
    let old = StoreSchema(version: 1, types: [TypeSchema("Memo", fields: [FieldSchema("title", .text)])])
    let new = StoreSchema(version: 2, types: [TypeSchema("Memo", fields: [FieldSchema("heading", .text)])])
    let steps = [Migration(to: 2, .renameField(type: "Memo", from: "title", to: "heading"))]
    func open(_ id: AccountID, _ schema: StoreSchema, _ migrations: [Migration]) throws -> SyncedStore {
      var configuration = SyncOptions.quiet
      configuration.schemaMismatch = .resetCache
      return try SyncedStore(
        at: path, schema: schema, migrations: migrations, remote: device.remote(id), owner: id,
        configuration: configuration)
    }
    let store = try open(ann, old, [])
    try await store.store.write { try $0.insert(AnyRecord("Memo", id: "M1", ["title": "one"])) }
    try store.store.close()
    for migrations in [steps, []] {
      let error = #expect(throws: BothyError.self) { _ = try open(bob, new, migrations) }
      #expect(error?.code == .wrongAccount)
      #expect(try LocalStore.storedSchema(at: path).version == 1)
    }
    #expect(try open(ann, new, steps).pendingCounts().total == 1)
  }

  /// Promises: H-53
  @Test("The server rejects work sent with another user's token, and it stays pending")
  func wrongToken() async throws {
    let device = try AccountDevice()
    let account = try device.folder.open(ann, remote: device.remote(bob))
    try insert("a1", in: account)
    let report = await account.store.sync()
    #expect(report.stop?.name == "wrongPrincipal")
    #expect(try account.store.pendingCounts().total == 1)
    #expect(try await device.served().isEmpty)
    let direct = await #expect(throws: BothyError.self) {
      try await account.store.save(Note(id: "a2", "a2"), options: RequestOptions(writePolicy: .remote))
    }
    #expect(direct?.code == .rejected)
    #expect(try await device.served().isEmpty)
  }

  @Test("Accounts that differ by case or separator have distinct, equally long file names")
  func names() throws {
    let device = try AccountDevice()
    let ids = [
      AccountID(space: "hut", user: "ann"), AccountID(space: "hut", user: "Ann"),
      AccountID(space: "hu", user: "tann"), AccountID(space: "../x", user: "a/b"),
      AccountID(space: "hut", user: String(repeating: "x", count: 5000)),
    ]
    let files = ids.map { device.folder.file(of: $0) }
    #expect(Set(files.map { $0.lowercased() }).count == ids.count)
    #expect(Set(files.map(\.count)).count == 1)
    for id in ids { _ = try device.open(id) }
    #expect(try Set(device.folder.accounts().map(\.id)) == Set(ids))
  }

  // MARK: signing out

  @Test("Signing out fails with the count of pending changes, or deletes the file")
  func refuse() async throws {
    let device = try AccountDevice()
    let (account, _) = try device.open(ann)
    for id in ["a1", "a2"] { try insert(id, in: account) }
    let error = await #expect(throws: BothyError.self) { try await account.signOut(.refuseIfPending) }
    #expect(error?.code == .pendingChanges && error?.pendingCount == 2)
    #expect(await account.store.sync().pushed == 2)
    #expect(try await account.signOut(.refuseIfPending) == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: device.folder.path).isEmpty)
    let second = await #expect(throws: BothyError.self) { try await account.signOut(.discard) }
    #expect(second?.code == .signedOut)
  }

  @Test(
    "Exported work is pending again after the import, and in-doubt changes count once")
  func export() async throws {
    let device = try AccountDevice()
    let path = device.temporary.path + "/ann.json"
    let first = try device.open(ann)
    try insert("kept", in: first.account)
    try insert("gone", in: first.account)
    await first.account.store.sync()
    try await first.account.store.store.write { transaction in
      try transaction.update(Note.self, id: "kept") { $0.score = 1 }
    }
    first.remote.plan(.lostAnswer, on: .operation(on: "kept"))
    await first.account.store.sync()
    try await first.account.store.store.write { transaction in
      try transaction.delete(Note.self, id: "gone")
      try transaction.insert(Note(id: "new", "new", note: "déjà \"vu\"\n"))
      try transaction.update(Note.self, id: "kept") { $0.score += 1 }
    }
    try await first.account.store.save(
      Note(id: "draft", "draft"), options: RequestOptions(writePolicy: .draft))
    #expect(try await first.account.signOut(.export(to: path)) == 4)
    #expect(!FileManager.default.fileExists(atPath: device.folder.file(of: ann)))
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    let stranger = #expect(throws: BothyError.self) { try device.open(bob, importing: path) }
    #expect(stranger?.code == .wrongAccount)

    let back = try device.open(ann, importing: path)
    #expect(try back.account.store.pendingCounts().total == 4)
    #expect(try back.account.store.state(of: .note("draft")) == .draft)
    let report = await back.account.store.sync()
    #expect(report.obstacle == nil && report.rejected.isEmpty && report.overwritten.isEmpty)
    let kept = try await device.service.query(
      space: "hut", user: Caller("ann"), AnyQuery("Note"))
    let scores = try kept.map { try $0.fields.members()["score"] }
    #expect(kept.map(\.id.id).sorted() == ["kept", "new"])
    #expect(scores.contains(.int(2)))
    #expect(try await back.account.store.store.fetch(Note.self, id: "new")?.note == "déjà \"vu\"\n")
    #expect(try back.account.store.outboxEntries().map(\.id.id) == ["draft"])
    #expect(try back.account.store.diagnose().findings.isEmpty)
  }

  @Test("A guest's changes are those of the user who signs in")
  func guest() async throws {
    let device = try AccountDevice()
    let path = device.temporary.path + "/guest.json"
    let guest = try device.folder.open(AccountID(space: "hut", user: "guest"), remote: .none)
    try insert("tried", in: guest)
    #expect(try await guest.signOut(.export(to: path)) == 1)
    let ann = try device.open(ann, importing: path)
    #expect(await ann.account.store.sync().pushed == 1)
    #expect(try await device.served() == ["tried": "ann"])
  }

  @Test("A document that is imported again after its sync changes nothing")
  func importedTwice() async throws {
    let device = try AccountDevice()
    let path = device.temporary.path + "/ann.json"
    let first = try device.open(ann)
    try insert("kept", in: first.account)
    await first.account.store.sync()
    try await first.account.store.store.write { transaction in
      try transaction.update(Note.self, id: "kept") { $0.score = 7 }
    }
    #expect(try await first.account.signOut(.export(to: path)) == 1)
    for number in 0..<3 {
      let back = try device.open(ann, importing: path)
      #expect(try back.account.store.pendingCounts().total == (number == 0 ? 1 : 0))
      await back.account.store.sync()
      #expect(try await back.account.store.store.fetch(Note.self, id: "kept")?.score == 7)
      #expect(try await back.account.signOut(.park) == 0)
    }
  }

  /// Promises: H-56
  @Test(
    "An import migrates a document that an older version of the app exported")
  func importAfterUpdate() async throws {
    let old = StoreSchema(version: 1, types: [TypeSchema("Memo", fields: [FieldSchema("title", .text)])])
    let new = StoreSchema(
      version: 2,
      types: [
        TypeSchema("Memo", fields: [FieldSchema("heading", .text), FieldSchema("stars", .int, default: 3)])
      ])
    let device = try AccountDevice(schema: old)
    let path = device.temporary.path + "/ann.json"
    let first = try device.open(ann)
    try await first.account.store.store.write { try $0.insert(AnyRecord("Memo", id: "M1", ["title": "one"])) }
    try await first.account.signOut(.export(to: path))
    let updated = AccountDevice.folder(
      device.temporary, new, [Migration(to: 2, .renameField(type: "Memo", from: "title", to: "heading"))],
      device.time)
    let account = try updated.open(ann, remote: device.remote(ann), importing: path)
    #expect(await account.store.sync().pushed == 1)
    let server = try await device.service.query(
      space: "hut", user: Caller("ann"), AnyQuery("Memo"))
    #expect(try server.map { try $0.fields.members() } == [["title": "one", "stars": 3]])
    try await account.signOut(.park)
    let files = try FileManager.default.contentsOfDirectory(atPath: updated.path)
    #expect(files.allSatisfy { !$0.contains("import") })
  }

  @Test("An import rejects records with pending changes and files that aren't documents")
  func importRefused() async throws {
    let device = try AccountDevice()
    let path = device.temporary.path + "/ann.json"
    let first = try device.open(ann)
    try insert("a1", in: first.account)
    try await first.account.signOut(.export(to: path))
    let second = try device.open(ann)
    try insert("a1", in: second.account)
    try await second.account.signOut(.park)
    let error = #expect(throws: BothyError.self) { try device.open(ann, importing: path) }
    #expect(error?.code == .pendingChanges)
    #expect(try device.open(ann).account.store.pendingCounts().total == 1)
    for text in ["", "{}", "{\"format\":\"bothy-pending\",\"version\":99}"] {
      let bad = device.temporary.path + "/bad.json"
      try Data(text.utf8).write(to: URL(fileURLWithPath: bad))
      let error = #expect(throws: BothyError.self) { try device.open(bob, importing: bad) }
      #expect(error?.code == .badDocument)
    }
    let exists = try device.open(ann)
    let there = await #expect(throws: BothyError.self) { try await exists.account.signOut(.export(to: path)) }
    #expect(there?.code == .badDocument)
    #expect(try exists.account.store.pendingCounts().total == 1)
  }

  /// Promises: Scenario-25
  @Test(
    "A sign-out lets a running request finish, and each caller receives one result")
  func duringSync() async throws {
    let device = try AccountDevice()
    var configuration = SyncOptions.quiet
    configuration.batchSize = 1
    let folder = AccountFolder(
      at: device.folder.path, schema: .notes, configuration: configuration,
      options: StoreOptions(durability: .normal, processes: .single, readers: 1))
    let remote = device.remote(ann)
    let account = try folder.open(ann, remote: remote)
    await account.store.sync()
    for number in 0..<5 { try insert("a\(number)", in: account) }
    let latch = Latch()
    remote.setBeforeSending { _ in await latch.pass() }
    let store = account.store
    let sync = Task { await store.sync() }
    await latch.reached()
    let joined = Task { await store.sync() }
    try await until { store.joinedCount == 1 }
    let out = Task { try await account.signOut(.park) }
    try await until { store.isSignedOut }
    #expect(await store.sync().obstacle == .signedOut)
    let second = await #expect(throws: BothyError.self) { try await account.signOut(.discard) }
    #expect(second?.code == .signedOut)
    #expect(second?.message.hasSuffix("Open it again to use it.") == true)
    latch.open()
    let report = await sync.value
    #expect(report.obstacle == .signedOut && report.pushed == 1)
    #expect(await joined.value == report)
    #expect(try await out.value == 4)
    #expect(try device.folder.accounts().first?.pending.total == 4)
  }

  @Test("A sign-out that throws leaves syncing unchanged, and a completed one ends run()")
  func running() async throws {
    let device = try AccountDevice()
    let (account, remote) = try device.open(ann)
    let store = account.store
    let clock = VirtualClock()
    let run = Task { await store.run(clock: clock) }
    try await until { store.status.phase != .stopped }
    remote.isOffline = true
    try insert("a1", in: account)
    _ = try? await account.signOut(.refuseIfPending)  // throws; the lines below show that nothing ended
    remote.isOffline = false
    // `run()` pushes as well: one of the two sends the work.
    while try store.pendingCounts().total > 0 { try #require(await store.sync().obstacle != .signedOut) }
    try await account.signOut(.refuseIfPending)
    await run.value
  }
}
