import Bothy
import BothySyncService
import BothyTesting
import Foundation
import Testing

// settings: begin
enum AppSettings {
  static let home = SettingsContainer(appGroup: "group.org.example.app")
}

@SettingsGroup(in: AppSettings.home) struct LocaleSettings {
  var languageLocale = "en"
  var regionLocale = "en"
  var timeFormat = "12"
}
// settings: end

/// The app. Its home is a folder of the person who runs the tests, so the code is compiled and not run.
func showLocale(reload: () -> Void) async throws {
  // settings: begin
  let language = LocaleSettings.current.languageLocale
  try LocaleSettings.update { $0.timeFormat = "24" }
  for await change in LocaleSettings.changes where change.changed(\.timeFormat) { reload() }
  // settings: end
  print(language)
}

// settings: begin
extension LocaleSettings {
  static func willUpdate(from old: Self, to proposed: inout Self) throws {
    guard ["12", "24"].contains(proposed.timeFormat) else { throw UnknownTimeFormat() }
  }
  static func didUpdate(from old: Self, to new: Self, in settings: SharedSettings<Self>) throws {
    guard old.languageLocale != new.languageLocale else { return }
    try settings.update { $0.regionLocale = new.languageLocale }
  }
}
// settings: end

struct UnknownTimeFormat: Error {}

/// The next version of the app.
enum NextVersion {
  // settings: begin
  @SettingsGroup(
    in: AppSettings.home, version: 2,
    steps: [
      SettingsStep(to: 2, .rename(from: "languageLocale", to: "language")),
      SettingsStep(to: 2, .convert(field: "timeFormat") { .int($0 == "24" ? 24 : 12) }),
      SettingsStep(to: 2, .remove(field: "regionLocale")),
      SettingsStep(to: 2, .add(field: "greeting") { $0["language"] == "de" ? "Hallo" : "Hello" }),
    ])
  struct LocaleSettings {
    var language = "en"
    var timeFormat = 12
    var greeting = "Hello"
  }
  // settings: end
}

// settings: begin
@SettingsGroup struct Units {
  var isMetric = true
}
// settings: end

@Suite("The code of the article about settings", .timeLimit(.minutes(5)))
struct SettingsGuideTests {
  /// Promises: K-3, K-5, B-36
  @Test("Hooks refuse changes and follow them up") func hooks() throws {
    let settings = SharedSettings<LocaleSettings>(in: .inMemory())
    #expect(throws: UnknownTimeFormat.self) { try settings.update { $0.timeFormat = "13" } }
    try settings.update { $0.languageLocale = "ar" }
    #expect(settings.current.regionLocale == "ar" && settings.current.timeFormat == "12")
  }

  /// Promises: K-10
  @Test("Steps convert the stored settings of one app version to the next") func steps() throws {
    let store = try LocalStore(inMemory: StoreSchema(types: []))
    try SharedSettings<LocaleSettings>(in: SettingsContainer(store)).update {
      $0.languageLocale = "de"
      $0.timeFormat = "24"
    }
    let next = try SharedSettings<NextVersion.LocaleSettings>(in: SettingsContainer(store)).load()
    #expect(next.language == "de" && next.timeFormat == 24 && next.greeting == "Hallo")
  }

  @Test("A group whose type is in the schema of a synced store is synced") func synced() async throws {
    let path = NSTemporaryDirectory() + "bothy-guide-\(UUIDv7.make()).bothy"
    let remote = InProcessRemote(SyncService(storage: try SQLiteServerStorage(), now: VirtualTime().reader()))
    // settings: begin
    let schema = StoreSchema(types: [Todo.schema, Units.recordType])
    let store = try SyncedStore(at: path, schema: schema, remote: remote)
    let home = SettingsContainer(store)
    let units = SharedSettings<Units>(in: home)

    try units.update { $0.isMetric = false }
    // settings: end
    #expect(units.current.isMetric == false)
    #expect(await store.sync().pushed == 1)
    try home.close()
    for end in ["", "-wal", "-shm", "-signals"] { try? FileManager.default.removeItem(atPath: path + end) }
  }

  @Test("The article's code is the code of this file") func isThisFile() throws {
    let compiled = try PublishedCode.compiled(in: #filePath, marker: "settings")
    let published = try PublishedCode.published(in: "Sources/Bothy/Bothy.docc/Settings.md", near: #filePath)
    #expect(!published.isEmpty)
    #expect(published == compiled)
  }
}
