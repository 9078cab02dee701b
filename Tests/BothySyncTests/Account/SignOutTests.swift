import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

/// Sign-outs, which delete the files of the database and no others.
@Suite("Signing out", .timeLimit(.minutes(5)))
struct SignOutTests {
  private struct Case {
    let folder: TemporaryFolder
    let service: SyncService
    let time = VirtualTime()
    var path: String { folder.path + "/home" }

    init() throws {
      folder = try TemporaryFolder()
      service = SyncService(
        storage: try SQLiteServerStorage(),
        blobs: FolderBlobStorage(at: folder.path + "/vault", now: time.reader()),
        now: time.reader())
    }

    func open(
      _ path: String? = nil, schema: StoreSchema = .snaps, as user: String? = "ann",
      processes: StoreOptions.Processes = .single, remote: (any RemoteStorage)? = nil,
      configuration: SyncOptions = .quiet, secrets: (any SecretStore)? = nil,
      onStep: (@Sendable (StoreStep, WriteOrigin) throws -> Void)? = nil
    ) throws -> SyncedStore {
      let user = user.map { Caller($0) } ?? .anonymous
      var options = StoreOptions(durability: .normal, processes: processes, readers: 1)
      (options.secrets, options.onStep) = (secrets, onStep)
      return try SyncedStore(
        at: path ?? self.path, schema: schema,
        remote: remote ?? InProcessRemote(service, user: user), configuration: configuration,
        options: options, clock: SyncClock(now: time.reader()))
    }

    /// Signs out, and puts the database back as it was between the mark and the removal.
    func interrupt(_ form: Account.SignOut, of store: SyncedStore) async throws {
      let copy = folder.path + "/copy"
      try FileManager.default.linkItem(atPath: path, toPath: copy)
      try FileManager.default.linkItem(atPath: path + "-wal", toPath: copy + "-wal")
      try await store.signOut(form)
      try FileManager.default.moveItem(atPath: copy, toPath: path)
      // After a proper close, the main file has all changes.
      try? FileManager.default.moveItem(atPath: copy + "-wal", toPath: path + "-wal")
    }

    func files() throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }

    func titles() async throws -> [String] {
      try await service.storage.read(space: "test") { storage in
        var titles: [String] = []
        try storage.forEachRecord(in: .everything) {
          titles.append(try $0.record.fields.members()["title"]?.stringValue ?? "")
        }
        return titles.sorted()
      }
    }
  }

  private static let users = StoreSchema(
    types: [
      TypeSchema(
        "User",
        fields: [FieldSchema("name", .text), FieldSchema("pw", .text, optional: true, sensitive: true)])
    ])

  private func note(_ id: String, in store: SyncedStore) async throws {
    try await store.store.write { try $0.insert(Note(id: id, id)) }
  }

  @Test("A document beside the database survives although its name begins like the database's")
  func documentBeside() async throws {
    let test = try Case()
    let store = try test.open()
    let blob = try await store.blobs.add(Data("picture".utf8), contentType: "image/png")
    try await store.store.write { try $0.insert(Snap("S1", "s", blob)) }
    let document = test.path + "-pending.json"
    #expect(try await store.signOut(.export(to: document)) == 1)
    #expect(try test.files() == ["home-pending.json", "home-pending.json-blobs"])
    try SyncedStore.restorePending(from: document, into: test.path, schema: .snaps)
    let back = try test.open()
    #expect(try await back.blobs.data(for: blob) == Data("picture".utf8))
  }

  @Test("An imported deletion hides the record, and deletes it on the server")
  func importedDeletion() async throws {
    let test = try Case()
    let first = try test.open()
    try await note("n1", in: first)
    await first.sync()
    try await first.delete(RecordID(type: "Note", id: "n1"))
    let document = test.path + "-pending.json"
    try await first.signOut(.export(to: document))
    let second = try test.open()
    await second.sync()
    #expect(try await second.store.count(RecordQuery<Note>()) == 1)
    try second.store.close()
    try SyncedStore.restorePending(from: document, into: test.path, schema: .snaps)
    let third = try test.open()
    #expect(try await third.store.count(RecordQuery<Note>()) == 0)
    await third.sync()
    #expect(try await test.titles() == [])
    #expect(try third.outboxEntries().isEmpty)
  }

  @Test("Other databases and files whose names begin like the database's survive")
  func neighbours() async throws {
    let test = try Case()
    let other = try test.open(test.path + "-work")
    try await note("w1", in: other)
    try Data("text".utf8).write(to: URL(fileURLWithPath: test.path + "-notes.txt"))
    let store = try test.open()
    try await note("h1", in: store)
    try await store.signOut(.discard)
    #expect(!FileManager.default.fileExists(atPath: test.path))
    #expect(FileManager.default.fileExists(atPath: test.path + "-work"))
    #expect(FileManager.default.fileExists(atPath: test.path + "-notes.txt"))
    #expect(try other.pendingCounts().total == 1)
  }

  @Test("A sign-out deletes what an interrupted import has left beside the file")
  func interruptedImport() async throws {
    let test = try Case()
    let store = try test.open()
    let left = "\(test.path)-import-\(UUIDv7.make())"
    for path in [left, left + "-wal", test.path + "-import-notes.txt"] {
      try Data("text".utf8).write(to: URL(fileURLWithPath: path))
    }
    try await store.signOut(.refuseIfPending)
    #expect(try test.files() == ["home-import-notes.txt"])
  }

  @Test("A second export to one path keeps the bytes of both exports")
  func secondExport() async throws {
    let test = try Case()
    let document = test.folder.path + "/p.json"
    var blobs: [Blob] = []
    for name in ["one", "two"] {
      let store = try test.open()
      let blob = try await store.blobs.add(Data(name.utf8), contentType: "image/png")
      blobs.append(blob)
      try await store.store.write { try $0.insert(Snap(name, name, blob)) }
      try await store.signOut(.export(to: document))
      try SyncedStore.restorePending(from: document, into: test.path, schema: .snaps)
      try FileManager.default.removeItem(atPath: document)
    }
    let back = try test.open()
    #expect(try await back.blobs.data(for: blobs[0]) == Data("one".utf8))
    #expect(try await back.blobs.data(for: blobs[1]) == Data("two".utf8))
  }

  @Test("An export onto the database's own files throws, and the user stays signed in")
  func exportOntoItself() async throws {
    let test = try Case()
    let store = try test.open()
    try await note("h1", in: store)
    for suffix in ["", "-wal", "-blobs", "-secrets/x", "-signals"] {
      let error = await #expect(throws: BothyError.self) {
        try await store.signOut(.export(to: test.path + suffix))
      }
      #expect(error?.code == .badDocument)
    }
    #expect(try store.pendingCounts().total == 1)
    #expect(await store.sync().pushed == 1)
  }

  @Test("Work given up at sign-out is sent by no other store of the file", arguments: [false, true])
  func otherProcess(exports: Bool) async throws {
    let test = try Case()
    let faulty = FaultyRemote(InProcessRemote(test.service, user: Caller("ann")))
    let first = try test.open(processes: .many, remote: faulty)
    try await note("discarded", in: first)
    faulty.isOffline = true
    _ = await first.sync()
    let second = try test.open(processes: .many)
    try await second.signOut(exports ? .export(to: test.folder.path + "/p.json") : .discard)
    faulty.isOffline = false
    #expect(await first.sync().obstacle == .signedOut)
    _ = try? await first.save(Note(id: "x", "x"), options: RequestOptions(writePolicy: .remoteThenLocal))
    #expect(try await test.titles() == [])
    // A new file in the same place belongs to the next user.
    let next = try test.open(as: "bob", processes: .many)
    try await note("next", in: next)
    #expect(await next.sync().pushed == 1)
    #expect(await first.sync().obstacle == .signedOut)
    #expect(try await test.titles() == ["next"])
  }

  @Test("A save between a sign-out and the deletion of the file throws", arguments: [false, true])
  func saveMeanwhile(exports: Bool) async throws {
    let test = try Case()
    let other = try test.open(processes: .many)
    let (isSigningOut, codes) = (Locked(false), Received<BothyError.Code>())
    let store = try test.open(processes: .many) { step, _ in
      guard isSigningOut.value, step == .committed else { return }
      isSigningOut.value = false
      let error = #expect(throws: BothyError.self) {
        try other.store.write { try $0.insert(Note(id: "late", "late")) }
      }
      if let error { codes.append(error.code) }
    }
    if exports { try await note("early", in: store) }
    isSigningOut.value = true
    let form = exports ? Account.SignOut.export(to: test.folder.path + "/p.json") : .refuseIfPending
    #expect(try await store.signOut(form) == (exports ? 1 : 0))
    #expect(codes.values == [.signedOut])
    #expect(!FileManager.default.fileExists(atPath: test.path))
  }

  @Test("A file opened without a user belongs to the first authenticated user")
  func owner() async throws {
    let test = try Case()
    let first = try test.open(as: "ann")
    #expect(await first.sync().obstacle == nil)
    try await note("private", in: first)
    try first.store.close()
    let second = try test.open(as: "bob")
    let report = await second.sync()
    #expect(report.stop?.name == "wrongPrincipal")
    #expect(try await test.titles() == [])
    #expect(second.owner == AccountID(space: "test", user: "ann"))
    try second.store.close()
    let again = try test.open(as: "ann")
    #expect(await again.sync().pushed == 1)
  }

  @Test("A server without users leaves a file without an owner")
  func anonymous() async throws {
    let test = try Case()
    let first = try test.open(as: nil)
    #expect(await first.sync().obstacle == nil)
    try first.store.close()
    #expect(try test.open(as: nil).owner == nil)
  }

  @Test("An export throws while sensitive values wait; on request their records become drafts")
  func secrets() async throws {
    let (schema, test) = (Self.users, try Case())
    let store = try test.open(schema: schema)
    try await store.store.write { transaction in
      try transaction.insert(AnyRecord("User", id: "U1", ["name": "ann", "pw": "word"]))
      try transaction.insert(AnyRecord("User", id: "U2", ["name": "bob"]))
    }
    let document = test.folder.path + "/p.json"
    let error = await #expect(throws: BothyError.self) { try await store.signOut(.export(to: document)) }
    #expect(error?.code == .pendingSecrets && error?.pendingCount == 1)
    #expect(try !test.files().contains("p.json"))
    #expect(try await store.signOut(.exportWithoutSecrets(to: document)) == 2)
    try SyncedStore.restorePending(from: document, into: test.path, schema: schema)
    let back = try test.open(schema: schema)
    #expect(try back.state(of: RecordID(type: "User", id: "U1")) == .draft)
    #expect(await back.sync().pushed == 1)
  }

  @Test("A sign-out while the secrets are locked deletes the file, and the secrets later")
  func lockedSecrets() async throws {
    let (test, secrets) = (try Case(), LockableSecrets())
    let store = try test.open(schema: Self.users, secrets: secrets)
    try await store.store.write {
      try $0.insert(AnyRecord("User", id: "U1", ["name": "ann", "pw": "word"]))
    }
    secrets.isLocked.value = true
    #expect(try await store.signOut(.discard) == 1)
    #expect(try test.files() == [])
    #expect(await store.sync().obstacle == .signedOut)
    secrets.isLocked.value = false
    #expect(try secrets.keys().count == 1)
    #expect(try test.open(schema: Self.users, secrets: secrets).pendingCounts().total == 0)
    #expect(try secrets.keys().isEmpty)
  }

  @Test("Stacked transactions are exported and restored in their order")
  func transactions() async throws {
    let test = try Case()
    let store = try test.open()
    for number in 0..<3 {
      try await store.write(.atomic) { transaction in
        try transaction.insert(Note(id: "N\(number)", "n\(number)"))
        if try transaction.exists(RecordID(type: "Note", id: "R")) {
          try transaction.update(Note.self, id: "R") { $0.title = "r\(number)" }
        } else {
          try transaction.insert(Note(id: "R", "r\(number)"))
        }
      }
    }
    let document = test.folder.path + "/p.json"
    try await store.signOut(.export(to: document))
    try SyncedStore.restorePending(from: document, into: test.path, schema: .snaps)
    let back = try test.open()
    #expect(await back.sync().pushed == 6)
    #expect(try await test.titles() == ["n0", "n1", "n2", "r2"])
    #expect(try back.pendingCounts().total == 0)
  }

  @Test(
    "A sign-out whose deletion was interrupted is finished when the file is opened", arguments: [true, false])
  func cutShort(fitsSchema: Bool) async throws {
    let test = try Case()
    let store = try test.open(processes: .many)
    try await note("discarded", in: store)
    try await test.interrupt(.discard, of: store)
    var configuration = SyncOptions.quiet
    configuration.schemaMismatch = .resetCache
    let other = StoreSchema(version: 2, types: [TypeSchema("Note", fields: [FieldSchema("text", .text)])])
    let again = try test.open(schema: fitsSchema ? .snaps : other, configuration: configuration)
    #expect(again.setAside == nil)
    #expect(try again.pendingCounts().total == 0)
    #expect(await again.sync().pushed == 0)
    #expect(try await test.titles() == [])
  }

  @Test("An interrupted discard is finished with its documents, an export without", arguments: [true, false])
  func interruptedDocuments(isDiscard: Bool) async throws {
    let test = try Case()
    let store = try test.open(processes: .many)
    try await note("given up", in: store)
    let form = isDiscard ? Account.SignOut.discard : .export(to: test.folder.path + "/p.json")
    try await test.interrupt(form, of: store)
    let document = test.path + ".pending-1.json"
    try Data("{}".utf8).write(to: URL(fileURLWithPath: document))
    #expect(try test.open().pendingCounts().total == 0)
    #expect(FileManager.default.fileExists(atPath: document) == !isDiscard)
  }

  @Test("An import into a file whose sign-out was interrupted survives, with its blobs")
  func importAfterInterruption() async throws {
    let test = try Case()
    let store = try test.open(processes: .many)
    let blob = try await store.blobs.add(Data("picture".utf8), contentType: "image/png")
    try await store.store.write { try $0.insert(Snap("S1", "s", blob)) }
    let document = test.folder.path + "/p.json"
    try await test.interrupt(.export(to: document), of: store)
    #expect(try SyncedStore.restorePending(from: document, into: test.path, schema: .snaps))
    let again = try test.open()
    #expect(try again.outboxEntries().map(\.id.id) == ["S1"])
    #expect(try await again.blobs.data(for: blob) == Data("picture".utf8))
  }
}
