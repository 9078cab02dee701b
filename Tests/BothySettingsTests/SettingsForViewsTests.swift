import BothySettings
import BothyTestSupport
import BothyUI
import Observation
import Testing

@Suite("Settings in a view", .timeLimit(.minutes(5))) @MainActor struct SettingsForViewsTests {
  /// Returns once the properties that `read` reads have been set.
  private func change(of read: () -> Void, after act: () throws -> Void) async rethrows {
    let (told, teller) = AsyncStream.makeStream(of: Void.self)
    withObservationTracking(read) { teller.finish() }
    try act()
    for await _ in told {}
  }

  @Test("A model observes commits of other homes until its home is closed") func follow() async throws {
    let folder = try TemporaryFolder()
    let settings = SharedSettings<LocaleSettings>(in: folder.home())
    let model = SettingsModel(settings)
    let running = Task { await model.run() }
    #expect(model.value == LocaleSettings())
    let other = SharedSettings<LocaleSettings>(in: folder.home())
    try other.update { $0.visits = 1 }
    while model.value.visits != 1 {
      await change(of: { _ = model.value }, after: {})
    }
    try await change(of: { _ = model.value }, after: { try settings.update { $0.visits = 2 } })
    #expect(model.value.visits == 2)
    try settings.home.close()
    await running.value
  }

  @Test("A rejected change leaves the value and sets an error until the next change")
  func refused() {
    let model = SettingsModel(SharedSettings<LocaleSettings>(in: .inMemory()))
    model.update { $0.timeFormat = "13" }
    #expect(model.value.timeFormat == "12" && model.error is UnknownTimeFormat)
    model.update { $0.timeFormat = "24" }
    #expect(model.value.timeFormat == "24" && model.error == nil)
  }

  @Test("A slow model does not return a control to an older value") func behind() async throws {
    let settings = SharedSettings<LocaleSettings>(in: .inMemory())
    let model = SettingsModel(settings)
    let running = Task { await model.run() }
    await Task.yield()
    for visits in 1...50 { model.update { $0.visits = visits } }
    // The model has not received any of the changes yet, because this function has not suspended.
    var seen: [Int] = []
    for _ in 0..<100 {
      await Task.yield()
      seen.append(model.value.visits)
    }
    #expect(seen.allSatisfy { $0 == 50 })
    try settings.home.close()
    await running.value
    #expect(model.value.visits == 50)
  }
}
