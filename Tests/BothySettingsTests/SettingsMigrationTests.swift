import BothySettings
import BothyStore
import BothyTestSupport
import Foundation
import Testing

@Suite("Settings of an older version", .timeLimit(.minutes(5))) struct SettingsMigrationTests {
  private static let first = Fields.Declaration(
    version: 1,
    fields: [
      .field("language", String.self, default: "en"), .field("timeFormat", String.self, default: "12"),
      .field("legacy", Bool.self, default: true),
    ])

  /// A home on whose file version 1 stored a language and a time format.
  private func stored() throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try Fields.$declared.withValue(Self.first) {
      let settings = SharedSettings<Fields>(in: folder.home())
      try settings.update {
        $0["language"] = "de"
        $0["timeFormat"] = "24"
      }
      try settings.home.close()
    }
    return folder
  }

  private func load(_ declaration: Fields.Declaration, _ folder: TemporaryFolder) throws -> [String:
    FieldValue]
  {
    try Fields.$declared.withValue(declaration) {
      let settings = SharedSettings<Fields>(in: folder.home())
      defer { try? settings.home.close() }
      let value = try settings.load()
      return Dictionary(uniqueKeysWithValues: zip(Fields.fields.map(\.name), value.contents))
    }
  }

  /// Promises: K-10
  @Test("Steps add, rename, remove and convert in the order of versions, whatever was skipped")
  func steps() throws {
    let folder = try stored()
    let before = try StoredSettings(in: folder.home().store()).group("Locale").generation
    var third = Fields.Declaration(
      version: 3,
      steps: [
        SettingsStep(to: 3, .rename(from: "locale", to: "languageLocale")),
        SettingsStep(to: 2, .rename(from: "language", to: "locale")),
        SettingsStep(to: 2, .convert(field: "timeFormat") { .int($0 == "24" ? 24 : 12) }),
        SettingsStep(to: 3, .remove(field: "legacy")),
        SettingsStep(to: 3, .add(field: "greeting") { $0["languageLocale"] == "de" ? "Hallo" : "Hello" }),
      ],
      fields: [
        .field("languageLocale", String.self, default: "en"), .field("timeFormat", Int.self, default: 12),
        .field("greeting", String.self, default: "Hello"), .field("volume", Double.self, default: 0.5),
      ])
    let expected: [String: FieldValue] = [
      "languageLocale": "de", "timeFormat": 24, "greeting": "Hallo", "volume": 0.5,
    ]
    #expect(try load(third, folder) == expected)
    // Other processes see a change by a process, not one that a sync brought.
    let generation = try StoredSettings(in: folder.home().store()).group("Locale").generation
    #expect(generation == before + 1)
    // Steps run once: a step that now fails isn't called again.
    third.steps = [SettingsStep(to: 3, .add(field: "stray") { _ in 1 })]
    #expect(try load(third, folder) == expected)
  }

  /// Promises: K-10
  @Test("Steps for properties that a skipped version had added are left out", arguments: [true, false])
  func skipped(isSkipped: Bool) throws {
    let folder = try stored()
    var second = Self.first
    second.fields.append(.field("volume", Int.self, default: 3))
    second.fields.append(.field("mood", String.self, default: "calm"))
    if !isSkipped { #expect(try load(second, folder)["volume"] == 3) }
    var third = Self.first
    third.version = 2
    third.fields.append(.field("loudness", String.self, default: "low"))
    third.steps = [
      SettingsStep(to: 2, .rename(from: "volume", to: "loudness")),
      SettingsStep(to: 2, .convert(field: "loudness") { $0 == 3 ? "three" : "other" }),
      SettingsStep(to: 2, .remove(field: "mood")),
    ]
    let loudness: FieldValue = isSkipped ? "low" : "three"
    let found = try load(third, folder)
    #expect(found["loudness"] == loudness && found["language"] == "de")
    let stored = try StoredSettings(in: folder.home().store()).group("Locale")
    #expect(!stored.values.keys.contains("mood"))
  }

  /// Promises: K-10
  @Test("A new property with a default needs no version; a removed one stays")
  func additive() throws {
    let folder = try stored()
    var wider = Self.first
    wider.fields.append(.field("volume", Int.self, default: 3))
    #expect(try load(wider, folder)["volume"] == 3)
    var narrower = Self.first
    narrower.fields.removeLast()
    try Fields.$declared.withValue(narrower) {
      let settings = SharedSettings<Fields>(in: folder.home())
      #expect(try settings.update { $0["language"] = "fr" }["language"] == "fr")
      try settings.home.close()
    }
    #expect(try load(wider, folder) == ["language": "fr", "timeFormat": "24", "legacy": true, "volume": 3])
  }

  /// Promises: K-10
  @Test("A failing step is named, changes nothing stored, and readers get the defaults") func failing()
    throws
  {
    let folder = try stored()
    for (step, reason) in [
      (
        SettingsStep.Change.convert(field: "timeFormat") { _ in throw UnknownTimeFormat() },
        "UnknownTimeFormat"
      ),
      (.convert(field: "timeFormat") { _ in .bool(true) }, "whole number"),
      (.rename(from: "nothing", to: "timeFormat"), "nothing"),
      (.rename(from: "language", to: "legacy"), "legacy"),
      (.add(field: "stray") { _ in 1 }, "stray"),
    ] {
      let second = Fields.Declaration(
        version: 2, steps: [SettingsStep(to: 2, .remove(field: "legacy")), SettingsStep(to: 2, step)],
        fields: [.field("language", String.self, default: "en"), .field("timeFormat", Int.self, default: 12)])
      let legacyStays = reason == "legacy"
      try Fields.$declared.withValue(second) {
        var declaration = second
        if legacyStays { declaration.steps.removeFirst() }
        try Fields.$declared.withValue(declaration) {
          let settings = SharedSettings<Fields>(in: folder.home())
          #expect(settings.current["language"] == "en")
          let problem = settings.problem as? BothyError
          #expect(problem?.code == .migrationFailed)
          #expect(problem?.description.contains(reason) == true, "\(String(describing: problem))")
          #expect(throws: BothyError.self) { try settings.update { $0["language"] = "fr" } }
          try settings.home.close()
        }
      }
      #expect(try load(Self.first, folder) == ["language": "de", "timeFormat": "24", "legacy": true])
    }
  }

  /// Promises: K-10
  @Test("Another kind without a step throws an error") func otherKind() throws {
    let folder = try stored()
    var second = Self.first
    second.fields[1] = .field("timeFormat", Int.self, default: 12)
    let error = #expect(throws: BothyError.self) { try load(second, folder) }
    #expect(error?.code == .schemaMismatch && error?.description.contains("Locale.timeFormat") == true)
    #expect(try load(Self.first, folder)["timeFormat"] == "24")
  }

  /// Promises: K-10
  @Test("Steps of a refused update don't hide what an older process changes then") func refused() throws {
    let folder = try stored()
    var second = Self.first
    second.version = 2
    second.fields[0] = .field("locale", String.self, default: "en")
    second.steps = [SettingsStep(to: 2, .rename(from: "language", to: "locale"))]
    try Fields.$declared.withValue(second) { () throws in
      let app = SharedSettings<Fields>(in: folder.home())
      #expect(throws: UnknownTimeFormat.self) { try app.update { _ in throw UnknownTimeFormat() } }
      try Fields.$declared.withValue(Self.first) { () throws in
        let widget = SharedSettings<Fields>(in: folder.home())
        #expect(try widget.update { $0["language"] = "fr" }["language"] == "fr")
        try widget.home.close()
      }
      #expect(app.current["locale"] == "fr" && app.problem == nil)
      try app.home.close()
    }
  }

  /// Promises: E-32, K-10
  @Test("An older app refuses a newer group, writes nothing, and reports it while running") func newer()
    async throws
  {
    let folder = try stored()
    let second = Fields.Declaration(version: 2, fields: Self.first.fields)
    try await Fields.$declared.withValue(Self.first) {
      let old = SharedSettings<Fields>(in: folder.home())
      #expect(old.current["language"] == "de")
      try Fields.$declared.withValue(second) {
        let new = SharedSettings<Fields>(in: folder.home())
        try new.update { $0["language"] = "fr" }
        try new.home.close()
      }
      let error = #expect(throws: BothyError.self) { try old.update { $0["language"] = "it" } }
      #expect(error?.code == .newerSchema)
      #expect(old.current["language"] == "de")
      while old.problem == nil { await Task.yield() }
      #expect((old.problem as? BothyError)?.code == .newerSchema)
      let fresh = SharedSettings<Fields>(in: folder.home())
      #expect(fresh.current["language"] == "en")
      #expect((fresh.problem as? BothyError)?.code == .newerSchema)
    }
    #expect(try load(second, folder)["language"] == "fr")
  }

  /// Promises: K-10
  @Test("Groups of one file have independent versions") func independent() throws {
    let folder = try stored()
    let home = folder.home()
    let watched = SharedSettings<Watched>(in: home)
    try watched.update { $0.value = 1 }
    try home.close()
    let second = Fields.Declaration(version: 2, fields: Self.first.fields)
    #expect(try load(second, folder)["language"] == "de")
    #expect(try SharedSettings<Watched>(in: folder.home()).load().value == 1)
  }
}
