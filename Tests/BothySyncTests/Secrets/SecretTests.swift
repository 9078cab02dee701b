import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Foundation
import Synchronization
import Testing

/// Sensitive fields: stored apart, sent once, then deleted.
@Suite("Sensitive fields", .faultsStrike, .timeLimit(.minutes(5)))
struct SecretTests {
  private static let schema = StoreSchema(
    types: [
      TypeSchema(
        "User",
        fields: [FieldSchema("name", .text), FieldSchema("password", .text, optional: true, sensitive: true)])
    ])
  private static let word = "correct-horse-battery"

  /// A server that accepts secrets, and the secrets that it received.
  private final class Taken: Sendable {
    private let taken = Mutex<[String]>([])
    var words: [String] { taken.withLock { $0 } }

    func rules() -> AccessRules {
      var rules = AccessRules()
      rules.receiveSecrets = { space, record, secrets in
        self.taken.withLock { $0.append("\(space)/\(record.id)=\(secrets.values["password"] ?? "")") }
      }
      return rules
    }
  }

  private func user(_ password: String? = word) -> AnyRecord {
    var record = AnyRecord("User", id: "U1", ["name": "ann"])
    if let password { record["password"] = .text(password) }
    return record
  }

  /// True if the database or its write-ahead log contains the word.
  private func contains(_ word: String, _ device: SimulatedDevice) throws -> Bool {
    for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: device.path + suffix) {
      let bytes = try Data(contentsOf: URL(fileURLWithPath: device.path + suffix))
      if bytes.range(of: Data(word.utf8)) != nil { return true }
    }
    return false
  }

  private func secrets(_ device: SimulatedDevice) throws -> [SecretKey] {
    try FileSecretStore(folder: device.path + "-secrets").keys()
  }

  /// Promises: X-17
  @Test(
    "A secret reaches the server once and is never stored in the database"
  )
  func journey() async throws {
    let taken = Taken()
    let world = try SimulatedWorld(rules: taken.rules())
    let device = try world.addDevice(schema: Self.schema)
    try device.put(user())
    #expect(try device.record("User", "U1")?.fields == ["name": "ann"])
    #expect(try secrets(device) == [SecretKey(RecordID(type: "User", id: "U1"), field: "password")])
    let folder = device.path + "-secrets"
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
      let mode =
        try FileManager.default.attributesOfItem(atPath: folder + "/" + name)[.posixPermissions] as? Int
      #expect(mode == 0o600)
    }
    try device.restart()
    let report = await device.store.sync()
    #expect(report.pushed == 1 && taken.words == ["test/U1=\(Self.word)"])
    #expect(try secrets(device).isEmpty)
    #expect(try !contains(Self.word, device))
    #expect(!String(reflecting: report).contains(Self.word))
    #expect(!device.operations.map { String(reflecting: $0) }.joined().contains(Self.word))
    #expect(try await world.serverRecords().values.map { try $0.fields.members() } == [["name": "ann"]])
    #expect(try await world.serverDigest().digest == device.store.digest().digest)
    #expect(await device.store.sync().pushed == 0)
  }

  /// Promises: X-17
  @Test(
    "A secret outlives lost requests and responses, outside the outbox"
  )
  func doubt() async throws {
    for fault in [FaultyRemote.Fault.lostRequest, .lostAnswer] {
      let taken = Taken()
      let world = try SimulatedWorld(rules: taken.rules())
      let device = try world.addDevice(schema: Self.schema)
      await device.store.sync()
      try device.put(user())
      device.remote.plan(fault, on: .operation(on: "U1"))
      await device.store.sync()
      #expect(try secrets(device).count == 1)
      #expect(try !contains(Self.word, device))
      device.remote.setScript { .none }
      try device.restart()
      #expect(await device.store.sync().pushed == 1)
      #expect(Set(taken.words) == ["test/U1=\(Self.word)"])
      #expect(try secrets(device).isEmpty)
    }
  }

  /// Promises: X-17
  @Test("A changed secret is sent, and one changed during a push follows")
  func changes() async throws {
    let taken = Taken()
    let world = try SimulatedWorld(rules: taken.rules())
    let device = try world.addDevice(schema: Self.schema)
    try device.put(user(nil))
    await device.store.sync()
    let id = RecordID(type: "User", id: "U1")
    try device.change { try $0.update(id, fields: ["password": "one"]) }
    let calls = Calls()
    let store = device.store.store
    device.remote.setDuringExchange {
      guard calls.add() == 1 else { return }
      // The store is open, so a failure is visible in the secrets that the server received.
      _ = try? await store.write { try $0.update(id, fields: ["password": "two"]) }
    }
    await device.store.sync()
    await device.store.sync()
    #expect(taken.words == ["test/U1=one", "test/U1=two"])
    #expect(try device.store.outboxEntries().isEmpty && secrets(device).isEmpty)
  }

  /// Promises: X-17
  @Test("A secret that didn't change is neither stored nor sent again")
  func unchanged() async throws {
    let taken = Mutex<[String?]>([])
    var rules = AccessRules()
    rules.receiveSecrets = { _, _, secrets in taken.withLock { $0.append(secrets.values["pin"]) } }
    let device = try SimulatedWorld(rules: rules).addDevice(schema: .posters)
    func save(_ poster: Poster) async throws {
      try device.change { try $0.save(poster) }
      await device.store.sync()
    }
    var poster = Poster(id: "P1", "start")
    poster.pin = "1234"
    try await save(poster)
    poster.title = "next"
    try device.change { try $0.save(poster) }
    #expect(try secrets(device).isEmpty)
    try await save(poster)
    try device.change { try $0.save(poster) }
    #expect(try device.store.outboxEntries().isEmpty && secrets(device).isEmpty)
    #expect(taken.withLock { $0 } == ["1234"])
    poster.pin = "5678"
    try await save(poster)
    #expect(taken.withLock { $0 } == ["1234", "5678"])
    // Another value of the record: whether the server still has the secret is unknown.
    var fetched = try #require(try await device.store.store.fetch(Poster.all).first)
    fetched.pin = "5678"
    try await save(fetched)
    #expect(taken.withLock { $0 } == ["1234", "5678", "5678"])
    #expect(try secrets(device).isEmpty)
  }

  @Test("A write that fails at its commit changes no secret")
  func failedCommit() async throws {
    let taken = Taken()
    let device = try SimulatedWorld(rules: taken.rules()).addDevice(schema: Self.schema)
    device.failPoints.fail(at: 2)
    #expect(throws: BothyError.self) { try device.put(user("none")) }
    #expect(try secrets(device).isEmpty)
    try device.put(user("one"))
    let id = RecordID(type: "User", id: "U1")
    device.failPoints.fail(at: 2)
    #expect(throws: BothyError.self) {
      try device.change { try $0.update(id, fields: ["password": "two"]) }
    }
    await device.store.sync()
    #expect(taken.words == ["test/U1=one"])
  }

  @Test(
    "After a crash at the commit, the secret is that of the committed change",
    arguments: [false, true], ["one", nil])
  func crash(isCommitted: Bool, before: String?) async throws {
    let (folder, taken) = (try TemporaryFolder(), Taken())
    let (secrets, isEnding) = (LockableSecrets(), Locked(false))
    let service = SyncService(
      storage: try SQLiteServerStorage(), rules: taken.rules(), now: VirtualTime().reader())
    func open() throws -> SyncedStore {
      var options = StoreOptions(processes: .single, readers: 1)
      options.secrets = secrets
      options.onStep = { step, _ in
        guard isEnding.value, step == .commit else { return }
        // From here on the process does nothing more to the secrets.
        secrets.isLocked.value = true
        if !isCommitted { throw BothyError(.diskFull, "The write ends before its commit.") }
      }
      return try SyncedStore(
        at: folder.path + "/a.sqlite", schema: Self.schema, remote: InProcessRemote(service),
        configuration: .quiet, options: options)
    }
    let store = try open()
    try await store.store.write { [record = user(before)] in try $0.insert(record) }
    isEnding.value = true
    func change() async throws {
      try await store.store.write {
        _ = try $0.update(RecordID(type: "User", id: "U1"), fields: ["password": "two"])
      }
    }
    if isCommitted {
      try await change()
    } else {
      await #expect(throws: BothyError.self) { try await change() }
    }
    (isEnding.value, secrets.isLocked.value) = (false, false)
    try store.store.close()
    let again = try open()
    #expect(await again.sync().pushed == 1)
    let word = isCommitted ? "two" : before
    #expect(taken.words == (word.map { ["test/U1=\($0)"] } ?? []))
    #expect(try secrets.keys().isEmpty)
  }

  @Test("A refused save that the app catches leaves no secret behind")
  func refused() async throws {
    let taken = Mutex<[String?]>([])
    var rules = AccessRules()
    rules.receiveSecrets = { _, _, secrets in taken.withLock { $0.append(secrets.values["pin"]) } }
    let device = try SimulatedWorld(rules: rules).addDevice(schema: .posters)
    var poster = Poster(id: "P1", "start")
    poster.pin = "1234"
    try device.change { try $0.insert(poster) }
    poster.pin = "0000"
    try device.change { transaction in
      #expect(throws: BothyError.self) { try transaction.insert(poster) }
    }
    await device.store.sync()
    #expect(taken.withLock { $0 } == ["1234"])
    var fetched = try #require(try await device.store.store.fetch(Poster.all).first)
    fetched.pin = "5678"
    fetched.weight = .nan
    try device.change { transaction in
      #expect(throws: BothyError.self) { try transaction.save(fetched) }
    }
    #expect(try secrets(device).isEmpty)
    await device.store.sync()
    fetched.weight = 2
    try device.change { try $0.save(fetched) }
    await device.store.sync()
    #expect(taken.withLock { $0 } == ["1234", "5678"])
  }

  /// Promises: X-17
  @Test(
    "A secret is not sent on an open connection or to an unprepared server"
  )
  func notSent() async throws {
    let world = try SimulatedWorld()
    let device = try world.addDevice(schema: Self.schema)
    try device.put(user())
    let refused = await device.store.sync()
    #expect(refused.rejected.map(\.code) == ["secretsRefused"])
    #expect(try secrets(device).count == 1)
    let open = OpenRemote(remote: device.remote)
    let store = try SyncedStore(at: nil, schema: Self.schema, remote: open, configuration: .quiet)
    try await store.store.write { [record = user()] in try $0.insert(record) }
    device.remote.forgetRequests()
    #expect(await store.sync().rejected.map(\.code) == ["insecureAddress"])
    #expect(device.operations.isEmpty)
    let error = await #expect(throws: BothyError.self) {
      try await store.save(
        AnyRecord("User", id: "U9", ["name": "bob", "password": "other"]),
        options: RequestOptions(writePolicy: .remoteThenLocal))
    }
    #expect(error != nil)
    #expect(device.remote.requests.flatMap(\.operations).isEmpty)
    #expect(try store.pendingCounts().insert == 1)
  }

  /// Promises: X-17
  @Test("A direct save sends the secret without storing it, and a purge deletes it")
  func direct() async throws {
    let taken = Taken()
    let world = try SimulatedWorld(rules: taken.rules())
    let device = try world.addDevice(schema: Self.schema)
    try await device.store.save(user(), options: RequestOptions(writePolicy: .remoteThenLocal))
    #expect(taken.words == ["test/U1=\(Self.word)"])
    try device.put(AnyRecord("User", id: "U2", ["name": "bob", "password": "x"]))
    try device.store.purge(includingPending: true)
    try device.restart()
    #expect(try secrets(device).isEmpty)
    #expect(try !contains(Self.word, device))
  }

  @Test("A secret of an unanswered save is sent with the concurrent edit")
  func meanwhile() async throws {
    let taken = Taken()
    let world = try SimulatedWorld(rules: taken.rules())
    let device = try world.addDevice(schema: Self.schema)
    let (calls, local) = (Calls(), device.store.store)
    device.remote.plan(.lostRequest, on: .operations, times: 1)
    device.remote.setBeforeSending { _ in
      guard calls.add() == 1 else { return }
      do { try await local.write { try $0.insert(AnyRecord("User", id: "U1", ["name": "later"])) } } catch {
        Issue.record(error)
      }
    }
    try await device.store.save(user(), options: RequestOptions(writePolicy: .remoteThenLocal))
    await device.store.sync()
    #expect(taken.words.contains("test/U1=\(Self.word)"))
    #expect(try device.store.outboxEntries().isEmpty)
    #expect(try secrets(device).isEmpty)
    #expect(try device.record("User", "U1")?["name"] == "later")
  }

  @Test("Signing out deletes the secrets, unless the changes are parked")
  func signOut() async throws {
    for (form, left) in [(Account.SignOut.discard, 0), (.park, 1)] {
      let folder = try TemporaryFolder()
      let world = try SimulatedWorld()
      let kept = MemorySecretStore()
      var options = StoreOptions()
      options.secrets = kept
      let store = try SyncedStore(
        at: folder.path + "/a.sqlite", schema: Self.schema, remote: InProcessRemote(world.service),
        configuration: .quiet, options: options)
      try await store.store.write { [record = user()] in try $0.insert(record) }
      #expect(kept.keys().count == 1)
      try await store.signOut(form)
      #expect(kept.keys().count == left)
    }
  }

  @Test("Changes with secrets are drafts in the document of a file that is replaced")
  func replacedFile() async throws {
    let world = try SimulatedWorld()
    var configuration = SyncOptions.quiet
    configuration.schemaMismatch = .resetCache
    let device = try world.addDevice(schema: Self.schema, configuration: configuration)
    try device.put(user())
    try device.put(AnyRecord("User", id: "U2", ["name": "bob"]))
    try device.restart(
      schema: StoreSchema(version: 2, types: [TypeSchema("User", fields: [FieldSchema("title", .text)])]))
    let document = try #require(device.store.setAside)
    let path = device.path + "-again"
    try SyncedStore.restorePending(from: document, into: path, schema: Self.schema)
    let again = try SyncedStore(
      at: path, schema: Self.schema, remote: device.remote, configuration: .quiet)
    #expect(try again.state(of: RecordID(type: "User", id: "U1")) == .draft)
    #expect(await again.sync().pushed == 1)
    #expect(try await world.serverRecords().keys.map(\.id) == ["U2"])
  }

  @Test("Only optional strings without index and default can be sensitive")
  func declaration() throws {
    for field in [
      FieldSchema("x", .text, sensitive: true), FieldSchema("x", .int, optional: true, sensitive: true),
      FieldSchema("x", .text, optional: true, indexed: true, sensitive: true),
      FieldSchema("x", .text, optional: true, fullText: true, sensitive: true),
    ] {
      #expect(throws: BothyError.self) {
        try StoreSchema(types: [TypeSchema("T", fields: [field])]).validate()
      }
    }
    #expect(try StoreSchema(json: Self.schema.json.canonicalText) == Self.schema)
  }
}

/// A remote whose connection isn't confidential.
struct OpenRemote: CompleteRemote {
  let remote: FaultyRemote
  var isConfidential: Bool { false }

  func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse {
    try await remote.exchange(request)
  }
  func query(_ query: AnyQuery) async throws(RemoteError) -> [ServerRecord] {
    try await remote.query(query)
  }
  func count(_ query: AnyQuery) async throws(RemoteError) -> Int { try await remote.count(query) }
  func digest(_ scope: SyncScope) async throws(RemoteError) -> ScopeDigest { try await remote.digest(scope) }
  func notifications() -> AsyncThrowingStream<Void, any Error> { remote.notifications() }
}
