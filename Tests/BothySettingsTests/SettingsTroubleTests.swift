import BothySettings
import BothyStore
import BothyTestSupport
import Dispatch
import Foundation
import GRDB
import Testing

@Suite("Settings that can't be used", .timeLimit(.minutes(5))) struct SettingsTroubleTests {
  /// Promises: E-31
  @Test("An unreadable file gives the defaults and an error, and stays as it is") func unreadable()
    throws
  {
    let folder = try TemporaryFolder()
    let path = folder.path + "/settings.bothy"
    let rubbish = Data("This is no database, and somebody may want it back.".utf8)
    try rubbish.write(to: URL(fileURLWithPath: path))
    let settings = SharedSettings<LocaleSettings>(in: folder.home())
    #expect(settings.current == LocaleSettings())
    #expect((settings.problem as? BothyError)?.code == .notADatabase)
    #expect(throws: BothyError.self) { try settings.update { $0.visits = 1 } }
    #expect(settings.current == LocaleSettings())
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == rubbish)
    // Once the file can be used, the settings use it.
    try FileManager.default.removeItem(atPath: path)
    #expect(try settings.update { $0.visits = 1 }.visits == 1)
    #expect(settings.current.visits == 1 && settings.problem == nil)
  }

  /// Promises: E-31
  @Test("An unreadable row gives the defaults and an error, and stays as it is") func brokenRow()
    throws
  {
    let folder = try TemporaryFolder()
    let home = folder.home()
    try SharedSettings<LocaleSettings>(in: home).update { $0.visits = 9 }
    try home.store().write { try $0.database.execute(sql: "UPDATE bothy_settings SET content = '{'") }
    try home.close()
    let settings = SharedSettings<LocaleSettings>(in: folder.home())
    #expect(settings.current == LocaleSettings())
    #expect((settings.problem as? BothyError)?.code == .unreadable)
    let error = #expect(throws: BothyError.self) { try settings.update { $0.visits = 1 } }
    #expect(error?.description.contains("Locale can't be read") == true)
    let content = try settings.home.store().read {
      try String.fetchOne($0.database, sql: "SELECT content FROM bothy_settings")
    }
    #expect(content == "{")
  }

  @Test("A row that was removed begins again with the defaults at the next load") func removedRow() throws {
    let folder = try TemporaryFolder()
    let home = folder.home()
    let settings = SharedSettings<LocaleSettings>(in: home)
    for visits in 1...3 { try settings.update { $0.visits = visits } }
    try home.store().write { try $0.database.execute(sql: "DELETE FROM bothy_settings") }
    #expect(try settings.load() == LocaleSettings())
    #expect(settings.current == LocaleSettings() && settings.problem == nil)
    #expect(try settings.update { $0.visits += 1 }.visits == 1)
  }

  @Test("A row that was removed begins again in other processes too")
  func removedRowElsewhere() async throws {
    let folder = try TemporaryFolder()
    let home = folder.home()
    let settings = SharedSettings<LocaleSettings>(in: home)
    let other = SharedSettings<LocaleSettings>(in: folder.home())
    for visits in 1...3 { try settings.update { $0.visits = visits } }
    #expect(try other.load().visits == 3)
    let changes = other.changes
    try await home.store().write { try $0.database.execute(sql: "DELETE FROM bothy_settings") }
    #expect(try settings.load() == LocaleSettings())
    let told = try await withDeadline { await SharedSettings<LocaleSettings>.take(1, of: changes) }
    #expect(told.first?.new == LocaleSettings() && other.current == LocaleSettings())
  }

  @Test("A row that was removed before the first look begins again too")
  func removedRowBeforeLook() async throws {
    let folder = try TemporaryFolder()
    let (home, otherHome) = (folder.home(), folder.home())
    let settings = SharedSettings<LocaleSettings>(in: home)
    for visits in 1...3 { try settings.update { $0.visits = visits } }
    let blocker = Blocker()
    _ = try otherHome.store().subscribe(blocker)
    try SharedSettings<Watched>(in: otherHome).update { $0.value = 1 }
    try await until { blocker.isBlocking.value }
    let other = SharedSettings<LocaleSettings>(in: otherHome)
    #expect(try other.load().visits == 3)
    let changes = other.changes
    try await home.store().write { try $0.database.execute(sql: "DELETE FROM bothy_settings") }
    #expect(try settings.load() == LocaleSettings())
    blocker.end.signal()
    let told = try await withDeadline { await SharedSettings<LocaleSettings>.take(1, of: changes) }
    #expect(told.first?.new == LocaleSettings() && other.current == LocaleSettings())
  }

  /// Promises: K-8
  @Test("A missing or locked shared folder throws an error that explains what to do") func container() throws
  {
    let folder = try TemporaryFolder()
    #expect(try AppGroupFolder(folder: folder.path).path(of: "a") == folder.path + "/a")
    let missing = #expect(throws: BothyError.self) { try AppGroupFolder(folder: folder.path + "/none") }
    #expect(missing?.code == .noContainer && missing?.description.contains("/none") == true)
    let odd = #expect(throws: BothyError.self) { try AppGroupFolder(appGroup: "../outside") }
    #expect(odd?.code == .noContainer)
    let settings = SharedSettings<LocaleSettings>(in: SettingsContainer(appGroup: "no/group"))
    #expect(settings.current == LocaleSettings())
    #expect((settings.problem as? BothyError)?.code == .noContainer)
    let error = #expect(throws: BothyError.self) { try settings.update { $0.visits = 1 } }
    #expect(error?.code == .noContainer)
  }

  @Test("A number that the file can't represent is refused") func infinity() throws {
    let declaration = Fields.Declaration(fields: [.field("ratio", Double.self, default: 1)])
    try Fields.$declared.withValue(declaration) { () throws in
      let settings = SharedSettings<Fields>(in: .inMemory())
      let error = #expect(throws: BothyError.self) {
        try settings.update { $0["ratio"] = .double(.infinity) }
      }
      #expect(error?.code == .invalidValue)
      #expect(try settings.update { $0["ratio"] = .double(-0.5) }["ratio"] == .double(-0.5))
    }
  }
}

/// A subscriber that keeps a store's thread of notices at the first one.
private final class Blocker: CommitSubscriber {
  let isBlocking = Locked(false)
  let end = DispatchSemaphore(value: 0)

  var isDue: Bool { false }

  func notice(_ touched: TouchedRecords) {
    guard !isBlocking.value else { return }
    isBlocking.value = true
    end.wait()
  }

  func refresh(_ transaction: ReadTransaction) {}

  func fail(_ error: any Error) {}

  func finish() {}
}
