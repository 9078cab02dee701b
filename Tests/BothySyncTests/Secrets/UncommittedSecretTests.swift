import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

/// Secrets that a write has stored and whose change is never committed, beside another process.
@Suite("Secrets of writes that fail at their commit", .timeLimit(.minutes(5)))
struct UncommittedSecretTests {
  private static let schema = StoreSchema(
    types: [
      TypeSchema(
        "User",
        fields: [FieldSchema("name", .text), FieldSchema("password", .text, optional: true, sensitive: true)])
    ])
  private static let id = RecordID(type: "User", id: "U1")

  /// Two processes on one file and one store of secrets. A write of the first fails at its commit while `isFailing`.
  private struct Scene {
    let folder: TemporaryFolder
    let secrets: LockableSecrets
    let isFailing: Locked<Bool>
    /// The passwords that the server received.
    let words: Locked<[String]>
    let first: SyncedStore
    let second: SyncedStore

    /// - Parameter isCrash: true if a process that fails does nothing more to the secrets.
    init(isCrash: Bool) throws {
      let folder = try TemporaryFolder()
      let (secrets, isFailing, words) = (LockableSecrets(), Locked(false), Locked<[String]>([]))
      var rules = AccessRules()
      rules.receiveSecrets = { _, _, secrets in
        words.change { $0.append(secrets.values["password"] ?? "") }
      }
      let service = SyncService(
        storage: try SQLiteServerStorage(), rules: rules, now: VirtualTime().reader())
      func open(_ onStep: (@Sendable (StoreStep, WriteOrigin) throws -> Void)?) throws -> SyncedStore {
        var options = StoreOptions(processes: .single, readers: 1)
        options.busyTimeout = .milliseconds(10)
        options.secrets = secrets
        options.onStep = onStep
        return try SyncedStore(
          at: folder.path + "/a.sqlite", schema: UncommittedSecretTests.schema,
          remote: InProcessRemote(service), configuration: .quiet, options: options)
      }
      first = try open { step, _ in
        guard isFailing.value, step == .commit else { return }
        secrets.isLocked.value = isCrash
        throw BothyError(.diskFull, "The write ends before its commit.")
      }
      second = try open(nil)
      (self.folder, self.secrets, self.isFailing, self.words) = (folder, secrets, isFailing, words)
    }

    func insert(_ password: String?) async throws {
      var user = AnyRecord("User", id: "U1", ["name": "ann"])
      if let password { user["password"] = .text(password) }
      let record = user
      try await first.store.write { try $0.insert(record) }
    }

    /// Saves a password by the first process, which fails.
    func fail(_ password: String) async throws {
      isFailing.value = true
      await #expect(throws: BothyError.self) {
        try await first.store.write {
          _ = try $0.update(UncommittedSecretTests.id, fields: ["password": .text(password)])
        }
      }
      (isFailing.value, secrets.isLocked.value) = (false, false)
    }

    func close() throws {
      try first.store.close()
      try second.store.close()
    }
  }

  @Test("A secret of a process that ended before its commit isn't sent by another")
  func crash() async throws {
    let scene = try Scene(isCrash: true)
    try await scene.insert("one")
    try await scene.fail("two")
    #expect(await scene.second.sync().pushed == 1)
    #expect(scene.words.value == ["one"])
    #expect(try scene.secrets.keys().isEmpty)
    try scene.close()
  }

  @Test("A secret that another process saves while a failed write is undone stays")
  func undone() async throws {
    let scene = try Scene(isCrash: false)
    try await scene.insert("one")
    let (second, isBusy) = (scene.second.store, Locked(false))
    @Sendable func save() throws {
      try second.write { _ = try $0.update(UncommittedSecretTests.id, fields: ["password": "three"]) }
    }
    scene.secrets.onceKeptIsRead {
      do { try save() } catch { isBusy.value = true }
    }
    try await scene.fail("two")
    if isBusy.value { try save() }
    #expect(await scene.second.sync().pushed == 1)
    #expect(scene.words.value == ["three"])
    #expect(try scene.secrets.keys().isEmpty)
    try scene.close()
  }

  @Test("A secret that was never committed prevents no export of pending changes")
  func export() async throws {
    let scene = try Scene(isCrash: true)
    try await scene.insert(nil)
    try await scene.fail("two")
    try scene.first.store.close()
    #expect(try await scene.second.signOut(.export(to: scene.folder.path + "/p.json")) == 1)
    #expect(try scene.secrets.keys().isEmpty)
  }
}
