import BothySettings
import BothyStore
import BothyTestSupport
import Foundation
import Testing

@Suite("Settings by name, for tools", .timeLimit(.minutes(5))) struct StoredSettingsTests {
  @Test("A value from a tool is checked, written once, and delivered to the app") func set() async throws {
    let folder = try TemporaryFolder()
    let settings = SharedSettings<LocaleSettings>(in: folder.home())
    let changes = settings.changes
    let stored = StoredSettings(in: try folder.home().store())
    #expect(try stored.groups().map(\.name) == ["Locale"])
    let (old, new) = try stored.set("Locale", "visits") { _ in .int(4) }
    #expect(
      old.values["visits"] == 0 && new.values["visits"] == 4 && new.changedKeys(since: old) == ["visits"])
    let told = await SharedSettings<LocaleSettings>.take(1, of: changes)
    #expect(told.first?.new.visits == 4 && settings.current.visits == 4)
    let same = try stored.set("Locale", "visits") { _ in .int(4) }
    #expect(same.old == same.new && same.new.generation == new.generation)
    #expect(try stored.set("Locale", "visits") { _ in nil }.new.values["visits"] == 0)
    let code = { (body: () throws -> Void) -> BothyError.Code? in
      do { try body() } catch { return (error as? BothyError)?.code }
      return nil
    }
    #expect(code { _ = try stored.set("Locale", "visits") { _ in "four" } } == .invalidValue)
    #expect(code { _ = try stored.set("Locale", "nothing") { _ in 1 } } == .unknownKey)
    #expect(code { _ = try stored.set("Nothing", "visits") { _ in 1 } } == .unknownGroup)
    #expect(code { _ = try stored.group("Nothing") } == .unknownGroup)
  }

  @Test("A group in a record has the fields that the store's type has now") func migrated() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/app.bothy"
    let first = Fields.Declaration(
      fields: [.field("language", String.self, default: "en"), .field("legacy", Bool.self, default: true)])
    try Fields.$declared.withValue(first) {
      let store = try LocalStore(at: path, schema: StoreSchema(types: [Fields.recordType]))
      try SharedSettings<Fields>(in: SettingsContainer(store)).update { $0["language"] = "de" }
      try store.close()
    }
    let second = Fields.Declaration(
      fields: [.field("locale", String.self, default: "en"), .field("volume", Int.self, default: 3)])
    try Fields.$declared.withValue(second) {
      let store = try LocalStore(
        at: path, schema: StoreSchema(version: 2, types: [Fields.recordType]),
        migrations: [
          Migration(to: 2, .renameField(type: "Locale", from: "language", to: "locale")),
          Migration(to: 2, .dropField(type: "Locale", field: "legacy")),
        ])
      let stored = StoredSettings(in: store)
      #expect(try stored.group("Locale").values == ["locale": "de", "volume": .null])
      #expect(try stored.set("Locale", "volume") { _ in .int(5) }.new.values["volume"] == 5)
      let settings = SharedSettings<Fields>(in: SettingsContainer(store))
      #expect(try settings.update { $0["locale"] = "fr" }["volume"] == 5)
      #expect(try stored.group("Locale").field("volume").defaultValue == 3)
    }
  }

  @Test("A group can be observed by name") func follow() async throws {
    let folder = try TemporaryFolder()
    let settings = SharedSettings<LocaleSettings>(in: folder.home())
    _ = settings.current
    var values = try StoredSettings(in: folder.home().store()).values(of: "Locale").makeAsyncIterator()
    #expect(try await values.next()??.values["visits"] == 0)
    try settings.update { $0.visits = 2 }
    #expect(try await values.next()??.values["visits"] == 2)
  }
}
