import Bothy
import Testing

private enum Home {
  static let home = SettingsContainer.inMemory()
}

@SettingsGroup(in: Home.home) private struct LocaleSettings {
  var languageLocale = "en"
  @Named("format", wire: "hours", aliases: ["clock"]) var timeFormat = "12"
  var mood: Mood = .calm
  var volume: Double?
  @NotStored var isShown = false

  static func willUpdate(from old: LocaleSettings, to proposed: inout LocaleSettings) throws {
    if !["12", "24"].contains(proposed.timeFormat) { throw BothyError(.invalidValue, "12 or 24") }
  }
}

@SettingsGroup(
  "Locale", version: 2, steps: [SettingsStep(to: 2, .rename(from: "languageLocale", to: "language"))])
struct LaterSettings {
  var language = "en"
}

@Suite("A struct marked @SettingsGroup", .timeLimit(.minutes(5))) struct SettingsGroupTests {
  /// Promises: K-1, K-7
  @Test("One line makes a group that is read, changed and observed by name") func hosted() async throws {
    #expect(LocaleSettings.current.languageLocale == "en" && LocaleSettings.current.volume == nil)
    let changes = LocaleSettings.changes
    try LocaleSettings.update {
      $0.languageLocale = "ar"
      $0.mood = .busy
      $0.volume = 0.5
      $0.isShown = true
    }
    #expect(LocaleSettings.current.mood == .busy)
    #expect(throws: BothyError.self) { try LocaleSettings.update { $0.timeFormat = "13" } }
    #expect(LocaleSettings.fields.map(\.name) == ["languageLocale", "format", "mood", "volume"])
    let stored = try LocaleSettings.settings.load()
    #expect(stored.languageLocale == "ar" && stored.volume == 0.5 && !stored.isShown)
    for await change in changes {
      #expect(change.changedKeys == ["languageLocale", "mood", "volume"] && change.changed(\.mood))
      break
    }
  }

  @Test("A synced group has the declared names on the wire") func wireNames() {
    let field = LocaleSettings.recordType["format"]
    #expect(field?.wireName == "hours" && field?.aliases == ["clock"])
    #expect(LocaleSettings.recordType["mood"]?.wireName == "mood")
  }

  @Test("A group has its declared name, version and steps") func arguments() {
    #expect(LaterSettings.groupName == "Locale" && LaterSettings.version == 2)
    #expect(LaterSettings.steps.map(\.version) == [2])
    #expect(SharedSettings<LaterSettings>(in: .inMemory()).current.language == "en")
  }
}
