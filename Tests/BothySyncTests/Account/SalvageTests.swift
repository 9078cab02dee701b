import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Foundation
import Synchronization
import Testing

/// Unsent work in a file that turns out to be damaged.
@Suite(.timeLimit(.minutes(5))) struct SalvageTests {
  private static let schema = StoreSchema(
    types: StoreSchema.notes.types + [
      TypeSchema("Local", fields: [FieldSchema("text", .text)], synced: false),
      TypeSchema("Setting", fields: [FieldSchema("key", .text, unique: true)], synced: false),
      TypeSchema("User", fields: [FieldSchema("password", .text, optional: true, sensitive: true)]),
    ])
  private let service: SyncService
  private let folder: TemporaryFolder
  private let time = VirtualTime()
  private let secrets = Secrets()
  private var path: String { folder.path + "/notes.bothy" }

  init() throws {
    service = SyncService(storage: try SQLiteServerStorage(), rules: secrets.rules(), now: time.reader())
    folder = try TemporaryFolder()
  }

  /// The secrets that the server received.
  private final class Secrets: Sendable {
    private let taken = Mutex<[String]>([])
    var words: [String] { taken.withLock { $0 } }

    func rules() -> AccessRules {
      var rules = AccessRules()
      rules.receiveSecrets = { _, _, secrets in
        self.taken.withLock { $0 += [secrets.values["password"] ?? ""] }
      }
      return rules
    }
  }

  private func open(on other: SyncService? = nil) throws -> SyncedStore {
    try SyncedStore(
      at: path, schema: Self.schema, remote: InProcessRemote(other ?? service), configuration: .quiet,
      options: StoreOptions(processes: .single, readers: 1), clock: SyncClock(now: time.reader()))
  }

  /// Closes the file with all committed changes in it, since the log outlives the connections if readers exist.
  private func close(_ store: SyncedStore) throws {
    try store.store.connections.writer.writeWithoutTransaction {
      try PreparedStatement("PRAGMA wal_checkpoint(TRUNCATE)", in: $0).run()
    }
    try store.store.close()
  }

  /// Overwrites the page that holds `text`, and makes the next opening check the file for damage.
  private func damage(at text: String) throws {
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    let found = try #require(bytes.range(of: Data(text.utf8)))
    let page = found.lowerBound / 4096 * 4096
    bytes.replaceSubrange(page..<page + 4096, with: Data(repeating: 0xA5, count: 4096))
    try bytes.write(to: URL(fileURLWithPath: path))
    try Data().write(to: URL(fileURLWithPath: path + "-suspect"))
  }

  /// Opens the file twice: the first opening finds the damage and quarantines the file. Returns its new path.
  private func setAside() throws -> String {
    let error = #expect(throws: BothyError.self) { try open() }
    #expect(error?.code == .corrupt)
    let store = try open()
    let files = store.store.damagedFiles
    #expect(files.count == 1)
    #expect(try store.pendingCounts().total == 0)
    try store.store.close()
    return try #require(files.first)
  }

  private func filled() async throws -> SyncedStore {
    let store = try open()
    try await store.store.write { transaction in
      for number in 0..<300 {
        let id = "r" + String(1000 + number)
        try transaction.insert(
          Note(id: id, "title \(id)", note: String(repeating: "text of \(id) ", count: 20)))
      }
    }
    await store.sync()
    return store
  }

  private func salvage(_ file: String) throws -> StoreMaintenance.Salvage {
    try StoreMaintenance.salvaged(
      file, into: path, schema: Self.schema, options: StoreOptions(processes: .single, readers: 1),
      clock: SyncClock(now: time.reader()))
  }

  private func titles() async throws -> [String: String] {
    let records = try await service.query(
      space: "test", user: Caller("tester"), AnyQuery("Note"))
    return try Dictionary(
      uniqueKeysWithValues: records.map { ($0.id.id, try $0.fields.members()["title"]?.stringValue ?? "") })
  }

  /// Promises: S-3
  @Test("Pending work in a damaged file is salvaged by one call and then sent")
  func pending() async throws {
    let store = try await filled()
    try await store.store.write { transaction in
      for id in ["r1000", "r1001"] { try transaction.update(Note.self, id: id) { $0.title = "edited" } }
      try transaction.delete(Note.self, id: "r1002")
      try transaction.insert(Note(id: "z", "new"))
      try transaction.insert(AnyRecord("Local", id: "l", ["text": "here alone"]))
    }
    try close(store)
    try damage(at: "text of r1150")
    let report = try salvage(setAside())
    #expect(report.pending == 4)
    #expect(report.records == 1)
    #expect(report.lost.isEmpty && report.skipped.isEmpty)
    #expect(!report.isComplete)

    let again = try open()
    #expect(again.store.damagedFiles.isEmpty)
    #expect(try again.store.record(RecordID(type: "Local", id: "l"))?["text"] == "here alone")
    let sync = await again.sync()
    #expect(sync.rejected.isEmpty && sync.overwritten.isEmpty)
    let titles = try await titles()
    #expect(
      titles.count == 300 && titles["z"] == "new" && titles["r1000"] == "edited" && titles["r1002"] == nil)
    #expect(try await again.store.count(AnyQuery("Note")) == 300)
    #expect(try again.diagnose().isHealthy)
  }

  @Test("Pending work in a file that lost its end is salvaged", arguments: [1, 8, 30])
  func cutOff(_ pages: Int) async throws {
    let store = try await filled()
    try await store.store.write { transaction in
      try transaction.update(Note.self, id: "r1001") { $0.title = "edited" }
    }
    try close(store)
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    try bytes.dropLast(pages * 4096).write(to: URL(fileURLWithPath: path))
    let report = try salvage(setAside())
    #expect(report.pending == 1 && report.lost.isEmpty)
    let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(!left.contains { $0.contains("-padded") })
    let again = try open()
    #expect(await again.sync().rejected.isEmpty)
    #expect(try await titles()["r1001"] == "edited")
  }

  @Test("Salvaging a file without its first page throws an error that says so")
  func firstPage() async throws {
    try close(try await filled())
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    bytes.replaceSubrange(0..<4096, with: Data(repeating: 0, count: 4096))
    try bytes.write(to: URL(fileURLWithPath: path))
    let file = try setAside()
    let error = #expect(throws: BothyError.self) { try salvage(file) }
    #expect(error?.code == .corrupt && error?.message.contains("first page") == true)
    try StoreMaintenance.dismiss(damagedFile: file)
    #expect(try open().store.damagedFiles.isEmpty)
  }

  @Test("Unsent records are salvaged although their part of the outbox can't be read")
  func outbox() async throws {
    let store = try open()
    try await store.store.write { transaction in
      for number in 0..<400 { try transaction.insert(Note(id: "n" + String(1000 + number), "title")) }
    }
    try close(store)
    try damage(at: "Noten1200")
    let report = try salvage(setAside())
    #expect(report.pending == 400)
    let again = try open()
    #expect(await again.sync().pushed == 400)
    #expect(try await titles().count == 400)
  }

  @Test("Salvage restores stacked transactions, or the row's value where one can't be read")
  func transactions() async throws {
    let store = try await filled()
    try await store.store.write { try $0.update(Note.self, id: "r1000") { $0.note = "counted" } }
    for number in 0..<60 {
      try await store.write(.atomic) { transaction in
        try transaction.insert(Note(id: "sale" + String(1000 + number), "sale"))
        try transaction.update(Note.self, id: "r1000") { $0.title = "total \(number)" }
      }
    }
    try close(store)
    try damage(at: "total 30")
    let report = try salvage(setAside())
    #expect(report.lost.isEmpty && !report.isComplete)
    let again = try open()
    #expect(await again.sync().rejected.isEmpty)
    #expect(try again.outboxEntries().isEmpty)
    let titles = try await titles()
    #expect(titles["r1000"] == "total 59")
    #expect(titles.count == 360)
    #expect(try again.diagnose().isHealthy)
  }

  @Test(
    "Salvage skips a change whose record has newer pending ones, with its transaction",
    arguments: [WriteGrouping.independent, .atomic])
  func skipped(grouping: WriteGrouping) async throws {
    let (store, isAtomic) = (try await filled(), grouping == .atomic)
    try await store.write(grouping) { transaction in
      try transaction.update(Note.self, id: "r1000") { $0.title = "old edit" }
      try transaction.insert(Note(id: "z", "new"))
    }
    try close(store)
    try damage(at: "text of r1150")
    let file = try setAside()
    let newer = try open()
    await newer.sync()
    try await newer.store.write { try $0.update(Note.self, id: "r1000") { $0.title = "newer edit" } }
    try newer.store.close()
    let report = try salvage(file)
    #expect(report.skipped == (isAtomic ? [.note("r1000"), .note("z")] : [.note("r1000")]))
    #expect(report.pending == (isAtomic ? 0 : 1))
    let again = try open()
    await again.sync()
    let titles = try await titles()
    #expect(titles["r1000"] == "newer edit" && titles["z"] == (isAtomic ? nil : "new"))
  }

  @Test("A change is left out with one of its transaction that can't be read")
  func unreadable() async throws {
    let store = try await filled()
    try await store.write(.atomic) { transaction in
      try transaction.update(Note.self, id: "r1000") { $0.title = "edited" }
      try transaction.insert(Note(id: "v", "new", note: String(repeating: "text of v ", count: 20)))
    }
    try close(store)
    try damage(at: "text of v")
    let report = try salvage(setAside())
    #expect(report.lost == [.note("v")] && report.skipped == [.note("r1000")] && report.pending == 0)
    let again = try open()
    await again.sync()
    #expect(try await titles()["r1000"] == "title r1000")
  }

  @Test("A record whose unique value is taken is lost, and all others are salvaged")
  func unique() async throws {
    let store = try await filled()
    try await store.store.write { transaction in
      try transaction.insert(Note(id: "z", "new"))
      try transaction.insert(AnyRecord("Setting", id: "old", ["key": "theme"]))
      try transaction.insert(AnyRecord("Setting", id: "other", ["key": "size"]))
    }
    try close(store)
    try damage(at: "text of r1150")
    let file = try setAside()
    let newer = try open()
    try await newer.store.write { try $0.insert(AnyRecord("Setting", id: "default", ["key": "theme"])) }
    try newer.store.close()
    let report = try salvage(file)
    #expect(report.lost == [RecordID(type: "Setting", id: "old")])
    #expect(report.pending == 1 && report.records == 1)
    let again = try open()
    #expect(try await again.store.count(AnyQuery("Setting")) == 2)
    #expect(await again.sync().pushed == 1)
  }

  @Test("A repeated salvage imports nothing twice, whatever was sent meanwhile")
  func repeated() async throws {
    let store = try await filled()
    try await store.store.write { transaction in
      for id in ["r1000", "r1001"] { try transaction.update(Note.self, id: id) { $0.score += 1 } }
    }
    try close(store)
    try damage(at: "text of r1150")
    let file = try setAside()
    #expect(try salvage(file).pending == 2)
    // The first salvage ended before the file was renamed.
    try FileManager.default.moveItem(atPath: file.replacing(".damaged-", with: ".salvaged-"), toPath: file)
    let newer = try open()
    await newer.sync()
    try await newer.store.write { try $0.update(Note.self, id: "r1000") { $0.title = "newer edit" } }
    try newer.store.close()
    #expect(try salvage(file).skipped == [.note("r1000")])
    #expect(try open().outboxEntries().map(\.id) == [.note("r1000")])
  }

  @Test("A pending secret survives the damage and is sent with its change")
  func secret() async throws {
    let store = try await filled()
    try await store.store.write { try $0.insert(AnyRecord("User", id: "u", ["password": "battery"])) }
    try close(store)
    try damage(at: "text of r1150")
    #expect(try salvage(setAside()).pending == 1)
    #expect(try await open().sync().pushed == 1)
    #expect(secrets.words == ["battery"])
  }

  @Test("A salvaged secret is sent under the name that an update gave its field")
  func secretRenamed() async throws {
    let store = try await filled()
    try await store.store.write { try $0.insert(AnyRecord("User", id: "u", ["password": "battery"])) }
    try close(store)
    try damage(at: "text of r1150")
    #expect(throws: BothyError.self) { try open() }
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    let name = try #require(names.first { $0.contains(".damaged-") && $0.last?.isNumber == true })
    var types = Self.schema.types
    types[3].fields[0] = FieldSchema("word", .text, optional: true, sensitive: true)
    let (schema, steps) = (
      StoreSchema(version: 2, types: types),
      [Migration(to: 2, .renameField(type: "User", from: "password", to: "word"))]
    )
    let report = try StoreMaintenance.salvaged(
      "\(folder.path)/\(name)", into: path, schema: schema, migrations: steps,
      options: StoreOptions(processes: .single, readers: 1), clock: SyncClock(now: time.reader()))
    #expect(report.pending == 1)
    let again = try SyncedStore(
      at: path, schema: schema, migrations: steps, remote: InProcessRemote(service), configuration: .quiet,
      options: StoreOptions(processes: .single, readers: 1), clock: SyncClock(now: time.reader()))
    #expect(await again.sync().pushed == 1)
    #expect(secrets.words == ["battery"])
  }

  // The new file knows nothing of the record, and its own record's secret is removed with the push.
  @Test("A sync before the salvage leaves the secrets of the damaged file")
  func secretBeside() async throws {
    let store = try await filled()
    try await store.store.write { try $0.insert(AnyRecord("User", id: "u", ["password": "battery"])) }
    try close(store)
    try damage(at: "text of r1150")
    let file = try setAside()
    let newer = try open()
    try await newer.store.write { try $0.insert(AnyRecord("User", id: "v", ["password": "horse"])) }
    await newer.sync()
    #expect(try newer.store.secrets.keys().map(\.record.id) == ["u"])
    try newer.store.close()
    #expect(try salvage(file).pending == 1)
    #expect(try await open().sync().pushed == 1)
    #expect(secrets.words == ["horse", "battery"])
  }

  @Test("Work pending for one server isn't salvaged into a file of another")
  func otherServer() async throws {
    let store = try await filled()
    try await store.store.write { try $0.insert(Note(id: "z", "new")) }
    try close(store)
    try damage(at: "text of r1150")
    let file = try setAside()
    let elsewhere = try open(on: SyncService(storage: SQLiteServerStorage(), now: time.reader()))
    await elsewhere.sync()
    try elsewhere.store.close()
    let error = #expect(throws: BothyError.self) { try salvage(file) }
    #expect(error?.code == .otherServer)
    #expect(FileManager.default.fileExists(atPath: file))
  }

  @Test("A dismissed damaged file is kept but no longer reported")
  func dismissed() async throws {
    let store = try await filled()
    try close(store)
    try damage(at: "text of r1150")
    let file = try setAside()
    try StoreMaintenance.dismiss(damagedFile: file)
    #expect(try open().store.damagedFiles.isEmpty)
    let dismissed = file.replacing(".damaged-", with: ".dismissed-")
    #expect(FileManager.default.fileExists(atPath: dismissed))
    try await open().signOut(.refuseIfPending)
    #expect(!FileManager.default.fileExists(atPath: dismissed))
  }

  @Test("A sign-out beside a damaged file throws, or deletes that too")
  func signOut() async throws {
    let store = try await filled()
    try await store.store.write { try $0.insert(Note(id: "z", "unsent")) }
    try close(store)
    try damage(at: "text of r1150")
    let file = try setAside()
    for ending in [".pending-1.json", ".damaged-notes.txt"] {
      try Data("text".utf8).write(to: URL(fileURLWithPath: path + ending))
    }
    let again = try open()
    for form in [Account.SignOut.refuseIfPending, .export(to: folder.path + "/p.json")] {
      let error = await #expect(throws: BothyError.self) { try await again.signOut(form) }
      #expect(error?.code == .pendingChanges && error?.message.contains(file) == true)
    }
    #expect(await again.sync().obstacle == nil)
    try await again.signOut(.discard)
    let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(left == ["notes.bothy.damaged-notes.txt"])
  }
}
