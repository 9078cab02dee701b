import BothySettings
import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Foundation
import GRDB
import Testing

@Suite("Settings that are synced", .timeLimit(.minutes(5))) struct SyncedSettingsTests {
  private static let schema = StoreSchema(types: [LocaleSettings.recordType])

  private func settings(of device: SimulatedDevice) -> SharedSettings<LocaleSettings> {
    SharedSettings(in: SettingsContainer(device.store.store))
  }

  @Test("A group whose type is in the store's schema is synced between devices") func synced() async throws {
    let world = try SimulatedWorld()
    let a = try world.addDevice(schema: Self.schema), b = try world.addDevice(schema: Self.schema)
    let (here, there) = (settings(of: a), settings(of: b))
    #expect(here.current == LocaleSettings() && there.current == LocaleSettings())
    // Defaults aren't sent.
    #expect(try a.store.pendingCounts().total == 0)
    try here.update { $0.languageLocale = "ar" }
    #expect(try a.store.pendingCounts().total == 1)
    _ = await a.store.sync()
    let changes = there.changes
    _ = await b.store.sync()
    let told = await SharedSettings<LocaleSettings>.take(1, of: changes)
    #expect(told.first?.origin == .record && told.first?.changedKeys == ["languageLocale"])
    #expect(there.current.languageLocale == "ar")
    #expect(throws: UnknownTimeFormat.self) { try there.update { $0.timeFormat = "13" } }
    try there.update { $0.timeFormat = "24" }
    try here.update { $0.visits += 1 }
    _ = await b.store.sync()
    _ = await a.store.sync()
    _ = await b.store.sync()
    #expect(try here.load() == there.load())
    #expect(here.current.timeFormat == "24")
  }

  @Test(
    "The first change on a second device sends only the changed fields",
    arguments: [MergePolicy.remoteWins, .localWins, .latestWins, .fieldByField])
  func firstChange(policy: MergePolicy) async throws {
    var configuration = SyncOptions.quiet
    configuration.merging = MergePolicies(default: policy)
    let world = try SimulatedWorld()
    let a = try world.addDevice(schema: Self.schema, configuration: configuration)
    let b = try world.addDevice(schema: Self.schema, configuration: configuration)
    let (here, there) = (settings(of: a), settings(of: b))
    try here.update { $0.timeFormat = "24" }
    _ = await a.store.sync()
    try there.update { $0.languageLocale = "ar" }
    _ = await b.store.sync()
    _ = await a.store.sync()
    for device in [here, there] {
      #expect(try device.load().timeFormat == "24")
      #expect(try device.load().languageLocale == "ar")
    }
    let stored = try #require(try b.store.store.record(RecordID(type: "Locale", id: "settings")))
    #expect(Set(stored.fields.filter { !$0.value.isNull }.keys) == ["timeFormat", "languageLocale"])
  }

  @Test("An older app shows the default for an unknown case, and sends none")
  func unknownCase() async throws {
    let world = try SimulatedWorld()
    let a = try world.addDevice(schema: StoreSchema(types: [Units<NewLength>.recordType]))
    let b = try world.addDevice(schema: StoreSchema(types: [Units<OldLength>.recordType]))
    let newer = SharedSettings<Units<NewLength>>(in: SettingsContainer(a.store.store))
    let older = SharedSettings<Units<OldLength>>(in: SettingsContainer(b.store.store))
    try newer.update { $0.length = .nautical }
    _ = await a.store.sync()
    _ = await b.store.sync()
    #expect(try older.load().length == .metric)
    try older.update { $0.places = 2 }
    _ = await b.store.sync()
    _ = await a.store.sync()
    let kept = try newer.load()
    #expect(kept.length == .nautical && kept.places == 2)
    #expect(older.current.places == 2 && older.problem == nil)
  }

  @Test("A load that a newer state of the record overtakes shows the newer one")
  func overtakenLoad() async throws {
    let folder = try TemporaryFolder()
    var type = Paused.recordType
    type.isSynced = false
    let store = try LocalStore(at: folder.file("paused.bothy"), schema: StoreSchema(types: [type]))
    let settings = SharedSettings<Paused>(in: SettingsContainer(store))
    func put(_ value: Int64) async throws {
      let record = AnyRecord("Paused", id: "settings", ["value": .int(value)])
      try await store.write { try $0.save(record) }
    }
    try await put(1)
    #expect(try settings.load().value == 1)
    let changes = settings.changes
    let (isRead, gate) = (Latch(), DispatchSemaphore(value: 0))
    let loading = Task {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Paused, any Error>) in
        DispatchQueue.global().async {
          let pause: @Sendable () -> Void = {
            isRead.open()
            gate.wait()
          }
          continuation.resume(with: Result { try Paused.$pause.withValue(pause) { try settings.load() } })
        }
      }
    }
    await isRead.pass()
    try await put(2)
    _ = await SharedSettings<Paused>.take(1, of: changes)
    gate.signal()
    #expect(try await loading.value.value == 2)
    #expect(settings.current.value == 2)
    try store.close()
  }

  @Test("A group in a record goes on after its row was removed") func removedRow() async throws {
    var type = Paused.recordType
    type.isSynced = false
    let store = try LocalStore(inMemory: StoreSchema(types: [type]))
    let settings = SharedSettings<Paused>(in: SettingsContainer(store))
    for value in 1...3 { try settings.update { $0.value = value } }
    try await store.write { try $0.database.execute(sql: "DELETE FROM bothy_settings") }
    #expect(try settings.load().value == 3)
    let changes = settings.changes
    try await store.write { try $0.save(AnyRecord("Paused", id: "settings", ["value": .int(4)])) }
    let told = try await withDeadline { await SharedSettings<Paused>.take(1, of: changes) }
    #expect(told.first?.new.value == 4 && settings.current.value == 4)
    try store.close()
  }

  @Test("A synced group refuses an optional setting with a default") func optionalDefault() throws {
    let declaration = Fields.Declaration(fields: [.field("nickname", String?.self, default: "Ana")])
    try Fields.$declared.withValue(declaration) {
      let store = try LocalStore(inMemory: StoreSchema(types: [Fields.recordType]))
      let synced = SharedSettings<Fields>(in: SettingsContainer(store))
      let problem = synced.problem as? BothyError
      #expect(problem?.code == .invalidSchema && problem?.message.contains("Locale.nickname") == true)
      let plain = SharedSettings<Fields>(in: .inMemory())
      #expect(try plain.update { $0["nickname"] = .null }["nickname"] == .null)
    }
  }

  @Test("A store's type that lacks a setting causes an error with a remedy") func mismatch() throws {
    let type = TypeSchema("Locale", fields: [.field("languageLocale", String.self)], synced: false)
    let settings = SharedSettings<LocaleSettings>(
      in: SettingsContainer(try LocalStore(inMemory: StoreSchema(types: [type]))))
    #expect(settings.current == LocaleSettings())
    #expect((settings.problem as? BothyError)?.code == .schemaMismatch)
    #expect(settings.problem.map { "\($0)" }?.contains("recordType") == true)
  }
}
