import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

/// Files that don't fit the app's schema, and are replaced by new ones.
@Suite("Replaced files", .timeLimit(.minutes(5)))
struct ReplacedFileTests {
  private static let other = StoreSchema(
    version: 2, types: [TypeSchema("Memo", fields: [FieldSchema("heading", .text)])])

  /// A store of secrets on which a test acts when its keys are listed.
  private struct WatchedSecrets: SecretStore {
    let memory = MemorySecretStore()
    let listed: @Sendable () -> Void

    func secret(_ key: SecretKey) throws -> String? { memory.secret(key) }
    func set(_ secret: String?, for key: SecretKey) throws { memory.set(secret, for: key) }
    func keys() throws -> [SecretKey] {
      listed()
      return memory.keys()
    }
  }

  private func open(_ path: String, options: StoreOptions) throws -> SyncedStore {
    var configuration = SyncOptions.quiet
    configuration.schemaMismatch = .resetCache
    return try SyncedStore(
      at: path, schema: Self.other, remote: .none, configuration: configuration, options: options)
  }

  @Test("A file that is replaced loses no change of another process")
  func beside() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/notes.bothy"
    let other = try LocalStore.recording(
      at: path, schema: memo(1), options: StoreOptions(busyTimeout: .milliseconds(10)), clock: SyncClock())
    try other.write { try $0.insert(AnyRecord("Memo", id: "before", ["title": "one"])) }
    let codes = Locked<[BothyError.Code?]>([])
    let write: @Sendable () -> Void = {
      do {
        try other.write { try $0.insert(AnyRecord("Memo", id: UUIDv7.make(), ["title": "late"])) }
        codes.change { $0.append(nil) }
      } catch {
        codes.change { $0.append((error as? BothyError)?.code) }
      }
    }
    var options = StoreOptions(secrets: WatchedSecrets(listed: write))
    options.onStep = { step, _ in if step == .committed { write() } }
    let store = try open(path, options: options)
    let refusals = codes.value.compactMap(\.self)
    #expect(refusals.count == codes.value.count, "a change was taken that is in neither file")
    #expect(Set(refusals).isSuperset(of: [BothyError.Code.busy, BothyError.Code.signedOut]))
    let document = try #require(store.setAside)
    let text = try String(contentsOfFile: document, encoding: .utf8)
    #expect(text.contains("before"))
    try store.close()
    try other.close()
  }

  @Test("An interrupted replacement is finished, names its document and leaves the damaged files")
  func interrupted() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/notes.bothy"
    let copy = folder.path + "/copy"
    let first = try LocalStore.recording(
      at: path, schema: memo(1), options: StoreOptions(), clock: SyncClock())
    try first.write { try $0.insert(AnyRecord("Memo", id: "1", ["title": "one"])) }
    try first.close()
    let damaged = path + ".damaged-1"
    try Data("damaged".utf8).write(to: URL(fileURLWithPath: damaged))
    let isLeft = Locked(false)
    var options = StoreOptions()
    options.onStep = { step, _ in
      // The mark is durable, and the file not deleted yet.
      guard step == .committed, !isLeft.value else { return }
      isLeft.value = true
      for ending in ["", "-wal"] {
        try FileManager.default.linkItem(atPath: path + ending, toPath: copy + ending)
      }
    }
    let store = try open(path, options: options)
    let document = try #require(store.setAside)
    try store.close()
    for ending in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: path + ending) {
      try FileManager.default.removeItem(atPath: path + ending)
    }
    for ending in ["", "-wal"] {
      try FileManager.default.moveItem(atPath: copy + ending, toPath: path + ending)
    }
    let again = try open(path, options: StoreOptions())
    #expect(again.setAside == document)
    #expect(try again.pendingCounts().total == 0)
    for file in [document, damaged] { #expect(FileManager.default.fileExists(atPath: file)) }
    try again.close()
    let last = try open(path, options: StoreOptions())
    #expect(last.setAside == nil)
    try last.close()
  }
}
