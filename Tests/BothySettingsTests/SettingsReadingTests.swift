import BothySettings
import BothyStore
import BothyTestSupport
import Foundation
import GRDB
import Synchronization
import Testing

/// A flag that the writer sets when it is done.
private final class End: Sendable {
  let isOver = Atomic(false)
}

@Suite("Reading settings", .timeLimit(.minutes(5))) struct SettingsReadingTests {
  /// Promises: K-2, E-30, B-37
  @Test("Concurrent first reads in several homes create one row") func firstAccess() async throws {
    let folder = try TemporaryFolder()
    let settings = (0..<4).map { _ in SharedSettings<LocaleSettings>(in: folder.home()) }
    await withTaskGroup(of: Void.self) { group in
      for index in 0..<32 {
        group.addTask { #expect(settings[index % 4].current == LocaleSettings()) }
      }
    }
    for settings in settings { #expect(settings.problem == nil) }
    let rows = try await folder.home().store().read { transaction in
      try String.fetchAll(transaction.database, sql: "SELECT name || ' ' || generation FROM bothy_settings")
    }
    #expect(rows == ["Locale 1"])
  }

  /// Promises: K-11
  @Test("A read after the first load needs no file") func withoutFile() throws {
    let folder = try TemporaryFolder()
    let home = folder.home()
    let settings = SharedSettings<LocaleSettings>(in: home)
    try settings.update { $0.languageLocale = "de" }
    try home.close()
    try FileManager.default.removeItem(atPath: folder.path)
    for _ in 0..<1000 { #expect(settings.current.languageLocale == "de") }
  }

  /// Promises: B-46, K-11
  @Test("Eight readers during ten thousand commits never see half a commit") func neverHalf() async throws {
    let settings = SharedSettings<Watched>(in: .inMemory())
    let end = End()
    _ = settings.current
    let torn = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<8 {
        group.addTask {
          var (torn, last) = (0, 0)
          while !end.isOver.load(ordering: .relaxed) {
            let value = settings.current
            if value.doubled != value.value * 2 || value.value < last { torn += 1 }
            last = value.value
            if last % 64 == 0 { await Task.yield() }
          }
          return torn
        }
      }
      group.addTask {
        for number in 1...10_000 {
          try settings.update {
            $0.value = number
            $0.doubled = number * 2
          }
        }
        end.isOver.store(true, ordering: .relaxed)
        return 0
      }
      return try await group.reduce(0, +)
    }
    #expect(torn == 0)
    #expect(settings.current.value == 10_000)
  }

  /// Promises: K-9, B-39
  @Test("Another home on the file receives each commit once, and its own once") func otherHomes()
    async throws
  {
    let folder = try TemporaryFolder()
    let (a, b) = (
      SharedSettings<LocaleSettings>(in: folder.home()), SharedSettings<LocaleSettings>(in: folder.home())
    )
    let (fromA, fromB) = (a.changes, b.changes)
    try a.update { $0.visits = 1 }
    let first = await SharedSettings<LocaleSettings>.take(1, of: fromB)
    #expect(first.first?.new.visits == 1 && first.first?.changedKeys == ["visits"])
    #expect(b.current.visits == 1)
    try b.update { $0.languageLocale = "de" }
    let both = await SharedSettings<LocaleSettings>.take(2, of: fromA)
    #expect(both.map(\.changedKeys) == [["visits"], ["languageLocale"]])
    #expect(a.current == b.current)
  }

  /// Promises: K-7
  @Test("A group is stored in the file of a store, beside its records") func besideRecords() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/app.bothy"
    let store = try LocalStore(
      at: path, schema: StoreSchema(types: [TypeSchema("Note", fields: [], synced: false)]))
    try store.write { try $0.insert(AnyRecord("Note", id: "1")) }
    try SharedSettings<LocaleSettings>(in: SettingsContainer(store)).update { $0.visits = 3 }
    try store.close()
    let again = SharedSettings<LocaleSettings>(in: SettingsContainer(at: path))
    #expect(again.current.visits == 3 && again.problem == nil)
    #expect(try again.home.store().record(RecordID(type: "Note", id: "1")) != nil)
  }

  @Test("Settings go on in a file that the app's store has converted meanwhile")
  func convertedBeside() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/app.bothy"
    func open(_ version: Int) throws -> LocalStore {
      let types = [TypeSchema("Note", fields: [], synced: false)]
      return try LocalStore(at: path, schema: StoreSchema(version: version, types: types))
    }
    try open(1).close()
    let settings = SharedSettings<LocaleSettings>(in: SettingsContainer(at: path))
    try settings.update { $0.visits = 1 }
    let watching = SharedSettings<LocaleSettings>(in: SettingsContainer(at: path))
    let changes = watching.changes
    #expect(watching.current.visits == 1)
    let store = try open(2)
    try settings.update { $0.visits = 2 }
    #expect(settings.current.visits == 2 && settings.problem == nil)
    let seen = await SharedSettings<LocaleSettings>.take(1, of: changes)
    #expect(seen.map(\.new.visits) == [2] && watching.problem == nil)
    try store.close()
  }

  @Test("An older app shows the default for an unknown case, and keeps it")
  func unknownCase() throws {
    let folder = try TemporaryFolder()
    let newer = SharedSettings<Units<NewLength>>(in: folder.home())
    let older = SharedSettings<Units<OldLength>>(in: folder.home())
    try newer.update { $0.length = .nautical }
    #expect(older.current.length == .metric && older.problem == nil)
    try older.update { $0.places = 2 }
    let kept = try newer.load()
    #expect(kept.length == .nautical && kept.places == 2)
    try older.update { $0.length = .imperial }
    #expect(try newer.load().length == .imperial)
  }

  /// Promises: K-6
  @Test("A second type with the same name in one home gets an error") func nameTaken() throws {
    let home = SettingsContainer.inMemory()
    let declaration = Fields.Declaration(fields: [.field("a", String.self, default: "x")])
    try Fields.$declared.withValue(declaration) {
      let locale = SharedSettings<LocaleSettings>(in: home), other = SharedSettings<Fields>(in: home)
      #expect(locale.problem == nil)
      #expect((other.problem as? BothyError)?.code == .nameTaken)
      #expect(other.current["a"] == "x")
      #expect(throws: BothyError.self) { try other.update { $0["a"] = "y" } }
      try locale.update { $0.visits = 1 }
    }
  }
}
