import BothySettings
import BothyTestSupport
import BothyUI
import Foundation
import Testing

@Suite("Settings whose home was closed", .timeLimit(.minutes(5))) struct SettingsReopeningTests {
  @Test("A load returns what the file has, also if it is another one") func anotherFile() async throws {
    let folder = try TemporaryFolder()
    let settings = SharedSettings<LocaleSettings>(in: folder.home())
    for visits in 1...3 { try settings.update { $0.visits = visits } }
    try settings.home.close()
    try FileManager.default.removeItem(atPath: folder.path + "/settings.bothy")
    let other = SharedSettings<LocaleSettings>(in: folder.home())
    try other.update { $0.languageLocale = "de" }
    #expect(settings.current.visits == 3)
    let loaded = try settings.load()
    try #require(loaded.languageLocale == "de" && loaded.visits == 0)
    #expect(settings.current == loaded && settings.problem == nil)
    let changes = settings.changes
    try other.update { $0.visits = 7 }
    let told = await SharedSettings<LocaleSettings>.take(1, of: changes)
    #expect(told.first?.changedKeys == ["visits"] && told.first?.origin == .thisProcess)
  }

  @Test("A new stream opens the file again and follows it") func stream() async throws {
    let folder = try TemporaryFolder()
    let settings = SharedSettings<LocaleSettings>(in: folder.home())
    let ended = settings.changes
    try settings.home.close()
    #expect(await SharedSettings<LocaleSettings>.take(1, of: ended).isEmpty)
    let other = SharedSettings<LocaleSettings>(in: folder.home())
    try other.update { $0.visits = 1 }
    let changes = settings.changes
    try #require(settings.current.visits == 1)
    try other.update { $0.visits = 2 }
    let told = await SharedSettings<LocaleSettings>.take(1, of: changes)
    #expect(told.first?.old.visits == 1 && told.first?.new.visits == 2)
  }

  @Test("Models for views observe again", arguments: [true, false]) @MainActor
  func model(runs: Bool) async throws {
    let folder = try TemporaryFolder()
    let settings = SharedSettings<LocaleSettings>(in: folder.home())
    let model = SettingsModel(settings)
    var running: Task<Void, Never>?
    if runs { running = Task { await model.run() } } else { model.show() }
    await Task.yield()
    try settings.home.close()
    await running?.value
    let other = SharedSettings<LocaleSettings>(in: folder.home())
    try other.update { $0.visits = 1 }
    if runs { running = Task { await model.run() } }
    try await until {
      if !runs { model.show() }
      return model.value.visits == 1
    }
    running?.cancel()
    await running?.value
  }
}
