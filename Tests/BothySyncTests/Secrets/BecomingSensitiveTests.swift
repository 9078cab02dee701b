import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Foundation
import Synchronization
import Testing

/// Fields that become sensitive with a new schema, and connections on which secrets can't be sent.
@Suite("Fields that become sensitive", .faultsStrike, .timeLimit(.minutes(5)))
struct BecomingSensitiveTests {
  private static let word = "correct-horse-battery"
  private static let first = schema(1, sensitive: false)
  private static let second = schema(2, sensitive: true)
  private static let steps = [Migration(to: 2, .makeSensitive(type: "User", field: "password"))]

  private static func schema(_ version: Int, sensitive: Bool) -> StoreSchema {
    StoreSchema(
      version: version,
      types: [
        TypeSchema(
          "User",
          fields: [
            FieldSchema("name", .text), FieldSchema("password", .text, optional: true, sensitive: sensitive),
          ])
      ])
  }

  private func user(_ id: String, _ name: String = "ann") -> AnyRecord {
    AnyRecord("User", id: id, ["name": .text(name), "password": .text(Self.word + id)])
  }

  private func contains(_ word: String, _ device: SimulatedDevice) throws -> Bool {
    try ["", "-wal"].contains { suffix in
      guard FileManager.default.fileExists(atPath: device.path + suffix) else { return false }
      return try Data(contentsOf: URL(fileURLWithPath: device.path + suffix)).range(of: Data(word.utf8))
        != nil
    }
  }

  @Test("A field that becomes sensitive keeps its values, sent or not")
  func values() async throws {
    let taken = Mutex<[String: String]>([:])
    var rules = AccessRules()
    rules.receiveSecrets = { _, record, secrets in
      taken.withLock { $0[record.id] = secrets.values["password"] }
    }
    let world = try SimulatedWorld(rules: rules)
    let device = try world.addDevice(schema: Self.first)
    try device.put(user("clean"))
    await device.store.sync()
    try device.put(user("pending"))
    try device.restart(schema: Self.second, migrations: Self.steps)
    for id in ["clean", "pending"] {
      #expect(try device.record("User", id)?.fields == ["name": "ann"])
    }
    #expect(try !contains(Self.word, device))
    // A restart right after the update loses nothing.
    try device.restart()
    let report = await device.store.sync()
    #expect(report.pushed == 2 && report.rejected.isEmpty)
    #expect(taken.withLock { $0 } == ["clean": Self.word + "clean", "pending": Self.word + "pending"])
    for record in try await world.serverRecords().values {
      #expect(try record.fields.members() == ["name": "ann"])
    }
    #expect(try FileSecretStore(folder: device.path + "-secrets").keys().isEmpty)
    #expect(try !contains(Self.word, device))
    #expect(await device.store.sync().pushed == 0)
    #expect(try device.store.diagnose().findings.isEmpty)
  }

  @Test("A pending value that becomes sensitive survives an export and an import")
  func imported() async throws {
    let taken = Mutex<[String: String]>([:])
    var rules = AccessRules()
    rules.receiveSecrets = { _, record, secrets in
      taken.withLock { $0[record.id] = secrets.values["password"] }
    }
    let world = try SimulatedWorld(rules: rules)
    let device = try world.addDevice(schema: Self.first)
    try device.put(user("U1"))
    let document = device.path + ".pending"
    try await device.store.signOut(.export(to: document))
    let path = device.path + "-again"
    try SyncedStore.restorePending(
      from: document, into: path, schema: Self.second, migrations: Self.steps)
    let again = try SyncedStore(
      at: path, schema: Self.second, remote: device.remote, configuration: .quiet)
    #expect(await again.sync().pushed == 1)
    #expect(taken.withLock { $0 } == ["U1": Self.word + "U1"])
    let there = try await world.serverRecords()[RecordID(type: "User", id: "U1")]
    #expect(try there?.fields.members() == ["name": "ann"])
    #expect(try again.store.secrets.keys().isEmpty)
    try again.close()
  }

  @Test(
    "A value that was sent without an answer is sent as a secret",
    arguments: [FaultyRemote.Fault.lostAnswer, .lostRequest])
  func inDoubt(fault: FaultyRemote.Fault) async throws {
    let taken = Mutex<[String: String]>([:])
    var rules = AccessRules()
    rules.receiveSecrets = { _, record, secrets in
      taken.withLock { $0[record.id] = secrets.values["password"] }
    }
    let world = try SimulatedWorld(rules: rules)
    let device = try world.addDevice(schema: Self.first)
    try device.put(user("U1"))
    device.remote.plan(fault, on: .operations, times: 1)
    await device.store.sync()
    try device.restart(schema: Self.second, migrations: Self.steps)
    await device.store.sync()
    #expect(taken.withLock { $0 } == ["U1": Self.word + "U1"])
    let there = try await world.serverRecords()[RecordID(type: "User", id: "U1")]
    #expect(try there?.fields.members() == ["name": "ann"])
    #expect(try device.store.outboxEntries().isEmpty)
    #expect(try FileSecretStore(folder: device.path + "-secrets").keys().isEmpty)
  }

  /// Returns the number of rows that have the word as a replaced value.
  private func replacedCount(_ device: SimulatedDevice) throws -> Int64 {
    try device.store.store.read { transaction in
      let select = try PreparedStatement(
        """
        SELECT (SELECT count(*) FROM bothy_replaced WHERE fields LIKE ?1)
          + (SELECT count(*) FROM bothy_outbox WHERE former LIKE ?1)
        """, in: transaction.database)
      select.bind("%\(Self.word)%", at: 1)
      defer { select.reset() }
      return try select.step() ? select.int(at: 0) : -1
    }
  }

  @Test("Replaced values of a field that becomes sensitive leave the file", arguments: [false, true])
  func replaced(isSent: Bool) async throws {
    let device = try SimulatedWorld().addDevice(schema: Self.first)
    try device.put(user("U1"))
    await device.store.sync()
    try device.change { _ = try $0.update(RecordID(type: "User", id: "U1"), fields: ["password": "new"]) }
    if isSent { await device.store.sync() }
    #expect(try replacedCount(device) == 1)
    try device.restart(schema: Self.second, migrations: Self.steps)
    #expect(try replacedCount(device) == 0)
  }

  @Test("Pages of an incomplete pull keep no value that becomes sensitive")
  func staged() async throws {
    let world = try SimulatedWorld()
    let other = try world.addDevice(schema: Self.first)
    for id in ["1", "2", "3"] { try other.put(user(id)) }
    await other.store.sync()
    let device = try world.device("reader", Self.first) { $0.pageSize = 1 }
    device.loseConnection(after: 1)
    #expect(await device.store.sync().obstacle != nil)
    #expect(try contains(Self.word, device))
    device.remote.setScript { .none }
    try device.restart(schema: Self.second, migrations: Self.steps)
    #expect(try !contains(Self.word, device))
    #expect(await device.store.sync().obstacle == nil)
    #expect(try device.ids(AnyQuery("User")) == ["1", "2", "3"])
  }

  @Test("Unreadable and given records keep no value that becomes sensitive")
  func aside() throws {
    let device = try SimulatedWorld().addDevice(schema: Self.first)
    try device.put(user("U1"))
    let fields = #"{"name":"ann","password":"\#(Self.word)"}"#
    let record = #"{"type":"User","id":"U2","version":"7","modified":7,"fields":\#(fields)}"#
    let condition = #"{"type":"User","where":{"password":"\#(Self.word)"}}"#
    try device.store.store.write(origin: .remote) { transaction in
      for (sql, text) in [
        ("INSERT INTO bothy_unreadable VALUES ('User', 'U2', '7', 'User', 'It is odd.', ?)", record),
        ("INSERT INTO bothy_given VALUES ('User', 'U1', 1, NULL, '7', ?, NULL, NULL)", fields),
        ("INSERT INTO bothy_coverage VALUES ('User', ?, 7)", condition),
      ] {
        let insert = try PreparedStatement(sql, in: transaction.database)
        insert.bind(text, at: 1)
        try insert.run()
      }
    }
    try device.restart(schema: Self.second, migrations: Self.steps)
    #expect(try !contains(Self.word, device))
    #expect(try device.record("User", "U2")?.fields == ["name": "ann"])
  }

  @Test("A field that becomes or stops being sensitive without a step is refused")
  func declared() throws {
    let world = try SimulatedWorld()
    let device = try world.addDevice(schema: Self.first)
    try device.put(user("U1"))
    let error = #expect(throws: BothyError.self) { try device.restart(schema: Self.second) }
    #expect(error?.code == .schemaMismatch && error?.message.contains("makeSensitive") == true)
    try device.restart(schema: Self.first)
    #expect(try device.record("User", "U1")?["password"] == .text(Self.word + "U1"))
    try device.restart(schema: Self.second, migrations: Self.steps)
    #expect(throws: BothyError.self) { try device.restart(schema: Self.schema(3, sensitive: false)) }
  }

  @Test("A server that knows a sensitive field refuses its value in clear text")
  func inClear() async throws {
    var rules = AccessRules()
    rules.schema = Self.second
    rules.receiveSecrets = { _, _, _ in }
    let world = try SimulatedWorld(rules: rules)
    let older = try world.addDevice(schema: Self.first)
    try older.put(user("U1"))
    try older.put(AnyRecord("User", id: "U2", ["name": "bob"]))
    let report = await older.store.sync()
    #expect(report.rejected.map(\.record.id) == ["U1"])
    #expect(report.rejected.first?.rejection.code == "sensitiveInClear")
    #expect(report.rejected.first?.rejection.fields.map(\.field) == ["password"])
    #expect(try await world.serverRecords().keys.map(\.id) == ["U2"])
  }

  @Test("A record whose secrets can't be sent stops neither others nor the pull")
  func insecure() async throws {
    let world = try SimulatedWorld()
    let other = try world.addDevice(schema: Self.second)
    try other.put(AnyRecord("User", id: "theirs", ["name": "bob"]))
    await other.store.sync()
    let folder = try TemporaryFolder()
    let store = try SyncedStore(
      at: folder.path + "/a.sqlite", schema: Self.second,
      remote: OpenRemote(remote: FaultyRemote(InProcessRemote(world.service))), configuration: .quiet)
    try await store.store.write { [secret = user("secret")] in
      try $0.insert(secret)
      try $0.insert(AnyRecord("User", id: "plain", ["name": "eve"]))
    }
    let report = await store.sync()
    #expect(report.obstacle == nil && report.pushed == 1)
    #expect(report.rejected.map(\.record.id) == ["secret"])
    #expect(report.rejected.first?.rejection.code == "insecureAddress")
    #expect(try store.store.record(RecordID(type: "User", id: "theirs")) != nil)
    #expect(Set(try await world.serverRecords().keys.map(\.id)) == ["plain", "theirs"])
    #expect(try store.rejectedEntries().map(\.id.id) == ["secret"])
  }

  @Test("A pending secret is sent after its type and its field were renamed")
  func renamed() async throws {
    let taken = Mutex<[String: String]>([:])
    var rules = AccessRules()
    rules.receiveSecrets = { _, record, secrets in
      taken.withLock { $0[record.id] = secrets.values.values.first }
    }
    let world = try SimulatedWorld(rules: rules)
    let device = try world.addDevice(schema: Self.second)
    try device.put(user("U1"))
    let renamed = StoreSchema(
      version: 3,
      types: [
        TypeSchema(
          "Member",
          fields: [FieldSchema("name", .text), FieldSchema("word", .text, optional: true, sensitive: true)])
      ])
    try device.restart(
      schema: renamed,
      migrations: [
        Migration(to: 3, .renameType(from: "User", to: "Member")),
        Migration(to: 3, .renameField(type: "Member", from: "password", to: "word")),
      ])
    #expect(await device.store.sync().pushed == 1)
    #expect(taken.withLock { $0 } == ["U1": Self.word + "U1"])
    #expect(try FileSecretStore(folder: device.path + "-secrets").keys().isEmpty)
  }
}
