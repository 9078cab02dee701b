import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

/// A file belongs to one server, one space and one history of it.
@Suite("Another server", .timeLimit(.minutes(5)))
struct OtherServerTests {
  /// A device that has synced with a server, which a test replaces by another.
  private struct Case {
    let folder: TemporaryFolder
    let time = VirtualTime()
    let remote = SwitchedRemote()
    let storage: SQLiteServerStorage
    let store: SyncedStore

    /// Creates a device. `T0`, `T1` and `T2` are synced; `mine` and an edit of `T0` are pending.
    init(_ policy: MergePolicy = .remoteWins, pageSize: Int = 1000) async throws {
      folder = try TemporaryFolder()
      storage = try SQLiteServerStorage(at: folder.path + "/server.sqlite")
      remote.target = InProcessRemote(SyncService(storage: storage, now: time.reader()))
      var configuration = SyncOptions.quiet
      configuration.merging = MergePolicies(default: policy)
      configuration.pageSize = pageSize
      store = try SyncedStore(
        at: folder.path + "/device.sqlite", schema: .notes, remote: remote, configuration: configuration,
        options: StoreOptions(durability: .normal, processes: .single, readers: 1),
        clock: SyncClock(now: time.reader()))
      try await store.store.write { transaction in
        for number in 0..<3 { try transaction.insert(Note(id: "T\(number)", "old")) }
      }
      #expect(await store.sync().obstacle == nil)
      try await store.store.write { transaction in
        _ = try transaction.update(Note.self, id: "T0") { $0.note = "mine" }
        try transaction.insert(Note(id: "mine", "made here"))
      }
    }

    /// Replaces the server by another one, with one record of its own or none.
    func other(_ title: String? = "theirs") async throws -> SQLiteServerStorage {
      let other = try SQLiteServerStorage()
      let remote = InProcessRemote(SyncService(storage: other, now: time.reader()))
      if let title {
        let operation = SyncOperation(
          id: UUIDv7.make(), kind: .insert, record: .note("theirs"), fields: ["title": .string(title)])
        _ = try await remote.exchange(SyncRequest(device: "else", operations: [operation]))
      }
      self.remote.target = remote
      return other
    }

    func ids() throws -> [String] { try store.store.fetch(RecordQuery<Note>()).map(\.id).sorted() }
  }

  private func ids(_ storage: SQLiteServerStorage, _ space: String = "test") async throws -> [String] {
    try await storage.read(space: space) { storage in
      var ids: [String] = []
      try storage.forEachRecord(in: .everything) { ids.append($0.record.id.id) }
      return ids.sorted()
    }
  }

  private static let all = ["T0", "T1", "T2", "mine"]

  @Test(
    "Another server is refused, and no record is deleted or sent", arguments: [nil, "theirs"])
  func otherServer(title: String?) async throws {
    let device = try await Case()
    let other = try await device.other(title)
    for scope in [SyncDirection.both, .pull, .push] {
      #expect(await device.store.sync(scope).stop?.name == "otherServer")
    }
    #expect(try device.ids() == Self.all)
    #expect(try device.store.outboxEntries().count == 2)
    #expect(try await ids(other) == [title].compactMap(\.self))
    // The first server is in place again, and syncing continues.
    device.remote.target = InProcessRemote(SyncService(storage: device.storage, now: device.time.reader()))
    #expect(await device.store.sync().obstacle == nil)
    #expect(try await ids(device.storage) == Self.all)
  }

  @Test("Another space of the same server is refused like another server")
  func otherSpace() async throws {
    let device = try await Case()
    device.remote.target = InProcessRemote(
      SyncService(storage: device.storage, now: device.time.reader()), space: "typo")
    for scope in [SyncDirection.both, .push] {
      #expect(await device.store.sync(scope).stop?.name == "otherServer")
    }
    #expect(try device.ids() == Self.all)
    #expect(try await ids(device.storage, "typo") == [])
  }

  @Test("A network-first save does not reach another server")
  func directSave() async throws {
    let device = try await Case()
    let other = try await device.other(nil)
    let options = RequestOptions(writePolicy: .remoteThenLocal)
    await #expect(throws: BothyError.self) {
      try await device.store.save(Note(id: "T9", "new"), options: options)
    }
    #expect(try await ids(other) == [])
  }

  @Test("A query that another server answers deletes nothing here")
  func question() async throws {
    let device = try await Case()
    _ = try await device.other()
    let here = RequestOptions(readPolicy: .remoteElseLocal)
    #expect(try await device.store.fetchResult(RecordQuery<Note>(), options: here).origin == .local)
    for isStored in [true, false] {
      let there = RequestOptions(readPolicy: .remote, cacheResults: isStored)
      let error = await #expect(throws: BothyError.self) {
        try await device.store.fetchResult(RecordQuery<Note>(), options: there)
      }
      #expect(error?.code == .otherServer)
      let counted = await #expect(throws: BothyError.self) {
        try await device.store.count(AnyQuery("Note"), options: there)
      }
      #expect(counted?.code == .otherServer)
    }
    #expect(try device.ids() == Self.all)
  }

  @Test("A query with another user's token stores none of that user's records")
  func otherPrincipal() async throws {
    let device = try await Case()
    let theirs = InProcessRemote(
      SyncService(storage: device.storage, now: device.time.reader()), user: Caller("else"))
    let operation = SyncOperation(
      id: UUIDv7.make(), kind: .insert, record: .note("theirs"), fields: ["title": "theirs"])
    _ = try await theirs.exchange(SyncRequest(device: "else", operations: [operation]))
    device.remote.target = theirs
    for policy in [ReadPolicy.remote, .remoteElseLocal] {
      let options = RequestOptions(readPolicy: policy)
      _ = try? await device.store.fetchResult(RecordQuery<Note>(), options: options)
    }
    _ = try? await device.store.maintenance.repair()
    #expect(try device.ids() == Self.all)
    let options = RequestOptions(readPolicy: .remote, cacheResults: false)
    await #expect(throws: BothyError.self) {
      try await device.store.fetchResult(RecordQuery<Note>(), options: options)
    }
  }

  @Test("A comparison with another server deletes nothing here")
  func comparison() async throws {
    let device = try await Case()
    _ = try await device.other()
    _ = try? await device.store.maintenance.repair()
    #expect(try device.ids() == Self.all)
  }

  @Test("An emptied space deletes nothing until the app decides", arguments: [1, 1000])
  func emptied(pageSize: Int) async throws {
    let device = try await Case(pageSize: pageSize)
    try await device.storage.remove(space: "test")
    for scope in [SyncDirection.both, .push, .pull] {
      #expect(await device.store.sync(scope).stop?.name == "otherServer")
    }
    #expect(try device.ids() == Self.all)
    #expect(try await ids(device.storage) == [])
  }

  @Test("An announced restore that lost acknowledged changes waits for a decision", arguments: [1, 1000])
  func restored(pageSize: Int) async throws {
    let device = try await Case(.fieldByField, pageSize: pageSize)
    let backup = device.folder.path + "/backup.sqlite"
    try await device.storage.backup(to: backup)
    try await device.store.store.write { transaction in
      _ = try transaction.update(Note.self, id: "T1") { $0.title = "after the backup" }
      try transaction.insert(Note(id: "late", "after the backup"))
    }
    #expect(await device.store.sync().obstacle == nil)
    let restored = try SQLiteServerStorage(at: backup)
    try await restored.startEpoch(space: "test")
    device.remote.target = InProcessRemote(SyncService(storage: restored, now: device.time.reader()))
    try await device.store.store.write { _ = try $0.update(Note.self, id: "T2") { $0.title = "edited" } }
    for _ in 0..<2 { #expect(await device.store.sync().stop?.name == "otherServer") }
    #expect(try device.ids() == ["T0", "T1", "T2", "late", "mine"])
    #expect(try await device.store.store.fetch(Note.self, id: "T1")?.title == "after the backup")
    #expect(try await device.store.store.fetch(Note.self, id: "T2")?.title == "edited")
    #expect(try await ids(restored) == ["T0", "T1", "T2"])
  }

  @Test("A sync continues after a new epoch if the server still has everything", arguments: [1, 1000])
  func announced(pageSize: Int) async throws {
    let device = try await Case(.fieldByField, pageSize: pageSize)
    let remote = try #require(device.remote.target)
    let deletion = SyncOperation(id: UUIDv7.make(), kind: .delete, record: .note("T2"), base: "3")
    _ = try await remote.exchange(SyncRequest(device: "else", operations: [deletion]))
    try await device.storage.startEpoch(space: "test")
    #expect(await device.store.sync().obstacle == nil)
    #expect(await device.store.sync(.push).obstacle == nil)
    #expect(try device.ids() == ["T0", "T1", "mine"])
    #expect(try await ids(device.storage) == ["T0", "T1", "mine"])
    #expect(try device.store.outboxEntries().isEmpty)
  }
}
