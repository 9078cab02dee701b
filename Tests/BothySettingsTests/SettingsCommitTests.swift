import BothySettings
import BothyStore
import BothyTestSupport
import Foundation
import GRDB
import Synchronization
import Testing

@Suite("Committing settings", .timeLimit(.minutes(5))) struct SettingsCommitTests {
  /// Promises: K-3, K-5
  @Test("A commit runs the closure, willUpdate, the write, didUpdate and the event in order") func order()
    async throws
  {
    let folder = try TemporaryFolder()
    let (settings, other) = (SharedSettings<Watched>(in: folder.home()), folder.home())
    let notes = Received<String>()
    let changes = settings.changes
    let stored = { @Sendable in try SharedSettings<Watched>(in: other).load().value }
    #expect(try stored() == 0)
    let hooks = Watched.Hooks(
      pre: { old, proposed in notes.append("pre \(old.value) \(proposed.value), stored \(try stored())") },
      post: { old, new, settings in
        notes.append(
          "post \(old.value) \(new.value), stored \(try stored()), current \(settings.current.value)")
      })
    try Watched.$hooks.withValue(hooks) {
      try settings.update {
        notes.append("closure")
        $0.value = 7
      }
    }
    notes.append("committed")
    let change = try #require(await SharedSettings<Watched>.take(1, of: changes).first)
    #expect(notes.values == ["closure", "pre 0 7, stored 0", "post 0 7, stored 7, current 7", "committed"])
    #expect(change.old.value == 0 && change.new.value == 7 && change.changedKeys == ["value"])
    #expect(change.origin == .thisProcess)
  }

  /// Promises: K-3
  @Test("The event follows didUpdate, so a listener that starts there receives it") func eventIsLast()
    async throws
  {
    let settings = SharedSettings<Watched>(in: .inMemory())
    let late = Mutex<[AsyncStream<SettingsChange<Watched>>]>([])
    let hooks = Watched.Hooks(post: { _, _, settings in late.withLock { $0.append(settings.changes) } })
    try Watched.$hooks.withValue(hooks) { _ = try settings.update { $0.value = 7 } }
    try settings.update { $0.value = 8 }
    let stream = try #require(late.withLock { $0.first })
    let told = await SharedSettings<Watched>.take(1, of: stream)
    #expect(told.first?.new.value == 7)
  }

  /// Promises: K-3, B-36
  @Test("A change that willUpdate refuses throws, changes nothing and notifies no listener") func veto()
    async throws
  {
    let settings = SharedSettings<LocaleSettings>(in: .inMemory())
    let changes = settings.changes
    #expect(throws: UnknownTimeFormat.self) {
      try settings.update {
        $0.timeFormat = "13"
        $0.visits = 1
      }
    }
    #expect(settings.current == LocaleSettings())
    #expect(try settings.load() == LocaleSettings())
    try settings.update { $0.timeFormat = "24" }
    let told = await SharedSettings<LocaleSettings>.take(1, of: changes)
    #expect(told.first?.new.timeFormat == "24" && told.first?.old == LocaleSettings())
  }

  @Test("A change that willUpdate adjusts is stored and delivered as adjusted") func adjusted() async throws {
    try await Watched.$hooks.withValue(Watched.Hooks(most: 10)) {
      let settings = SharedSettings<Watched>(in: .inMemory())
      let changes = settings.changes
      #expect(try settings.update { $0.value = 50 }.value == 10)
      #expect(try settings.load().value == 10)
      // Lowered to the value that is stored already: nothing changes.
      #expect(try settings.update { $0.value = 99 }.value == 10)
      try settings.update { $0.value = 3 }
      let told = await SharedSettings<Watched>.take(2, of: changes)
      #expect(told.map(\.new.value) == [10, 3])
    }
  }

  /// Promises: K-4, B-40
  @Test("A commit without a change notifies no listener, but a touch runs both hooks") func nothing()
    async throws
  {
    let settings = SharedSettings<Watched>(in: .inMemory())
    let notes = Received<String>()
    let changes = settings.changes
    let hooks = Watched.Hooks(pre: { _, _ in notes.append("pre") }, post: { _, _, _ in notes.append("post") })
    try Watched.$hooks.withValue(hooks) {
      try settings.update { _ in }
      try settings.update { $0.value += 0 }
      #expect(notes.values.isEmpty)
      try settings.republish()
      #expect(notes.values == ["pre", "post"])
      try settings.update { $0.doubled = 2 }
    }
    let told = await SharedSettings<Watched>.take(2, of: changes)
    #expect(told.map(\.changedKeys) == [[], ["doubled"]])
  }

  /// Promises: K-5
  @Test("A commit inside didUpdate has its own event, in the order of commits") func nested()
    async throws
  {
    let settings = SharedSettings<Watched>(in: .inMemory())
    let changes = settings.changes
    let hooks = Watched.Hooks(post: { _, new, settings in
      try settings.update { $0.doubled = new.value * 2 }
    })
    try Watched.$hooks.withValue(hooks) { _ = try settings.update { $0.value = 21 } }
    #expect(settings.current.doubled == 42)
    let told = await SharedSettings<Watched>.take(2, of: changes)
    #expect(told.map(\.changedKeys) == [["value"], ["doubled"]])
    #expect(told[0].new == told[1].old)
  }

  /// Promises: K-5
  @Test("Endless commits in didUpdate end with an error, and stored values stay")
  func recursion() throws {
    let settings = SharedSettings<Watched>(in: .inMemory())
    let hooks = Watched.Hooks(post: { _, _, settings in try settings.update { $0.value += 1 } })
    let error = #expect(throws: BothyError.self) {
      try Watched.$hooks.withValue(hooks) { _ = try settings.update { $0.value = 1 } }
    }
    #expect(error?.code == .didUpdateFailed)
    #expect(String(reflecting: error).contains("recursionLimit"))
    #expect(settings.current.value == 32)
    #expect(try settings.load().value == 32)
  }

  /// Promises: B-38
  @Test("A commit inside a commit, a hook or another write throws an error") func inside()
    throws
  {
    let store = try LocalStore(inMemory: StoreSchema(types: [TypeSchema("Note", fields: [], synced: false)]))
    let home = SettingsContainer(store)
    let settings = SharedSettings<Watched>(in: home), locale = SharedSettings<LocaleSettings>(in: home)
    let code = { (body: () throws -> Void) -> BothyError.Code? in
      do { try body() } catch { return (error as? BothyError)?.code }
      return nil
    }
    #expect(code { try settings.update { _ in try settings.update { $0.value = 1 } } } == .nestedUpdate)
    #expect(code { try settings.update { _ in try locale.republish() } } == .nestedUpdate)
    #expect(code { try store.write { _ in _ = try settings.update { $0.value = 1 } } } == .nestedUpdate)
    let hooks = Watched.Hooks(pre: { _, _ in _ = try locale.update { $0.visits = 1 } })
    #expect(code { try Watched.$hooks.withValue(hooks) { try settings.republish() } } == .nestedUpdate)
    #expect(settings.current == Watched() && locale.current == LocaleSettings())
    let error = #expect(throws: BothyError.self) {
      try store.write { _ in try store.write { try $0.insert(AnyRecord("Note", id: "1")) } }
    }
    #expect(error?.code == .nestedWrite)
    #expect(try store.record(RecordID(type: "Note", id: "1")) == nil)
    // Another home has its own writes.
    let apart = SharedSettings<LocaleSettings>(in: .inMemory())
    try settings.update { $0.value = try apart.update { $0.visits = 5 }.visits }
    #expect(settings.current.value == 5)
  }

  /// Promises: B-38
  @Test("Groups can be read inside a commit, even for the first time") func readingInside() throws {
    let home = SettingsContainer.inMemory()
    let settings = SharedSettings<Watched>(in: home), locale = SharedSettings<LocaleSettings>(in: home)
    #expect(throws: UnknownTimeFormat.self) {
      try settings.update {
        $0.value = locale.current.visits + 3
        throw UnknownTimeFormat()
      }
    }
    try settings.update { $0.value = locale.current.visits + settings.current.doubled + 3 }
    #expect(settings.current.value == 3)
    #expect(locale.current == LocaleSettings() && locale.problem == nil)
    try locale.update { $0.visits = 1 }
    #expect(locale.current.visits == 1)
  }

  /// Promises: K-12
  @Test("An error during a write is thrown, and the write is complete or absent") func errors() throws {
    let home = SettingsContainer.inMemory()
    let settings = SharedSettings<Watched>(in: home)
    try settings.update { $0.value = 1 }
    try home.store().write {
      try $0.database.execute(
        sql: "CREATE TRIGGER full BEFORE UPDATE ON bothy_settings BEGIN SELECT RAISE(ABORT, 'no room'); END")
    }
    #expect(throws: BothyError.self) { try settings.update { $0.value = 2 } }
    #expect(settings.current.value == 1)
    try home.store().write { try $0.database.execute(sql: "DROP TRIGGER full") }
    #expect(try settings.update { $0.value += 2 }.value == 3)
    let hooks = Watched.Hooks(post: { _, _, _ in throw UnknownTimeFormat() })
    let error = #expect(throws: BothyError.self) {
      try Watched.$hooks.withValue(hooks) { _ = try settings.update { $0.value = 4 } }
    }
    #expect(error?.code == .didUpdateFailed && error?.underlying is UnknownTimeFormat)
    #expect(settings.current.value == 4)
  }

  /// Promises: K-12
  @Test("A commit that fails at its end notifies no listener and changes nothing")
  func refusedAtTheEnd() async throws {
    let home = SettingsContainer.inMemory()
    let settings = SharedSettings<Watched>(in: home)
    try settings.update { $0.value = 1 }
    let changes = settings.changes
    let refusal = RefusedCommits()
    try await home.store().write { $0.database.add(transactionObserver: refusal, extent: .databaseLifetime) }
    refusal.isOn.withLock { $0 = true }
    #expect(throws: (any Error).self) { try settings.update { $0.value = 2 } }
    refusal.isOn.withLock { $0 = false }
    #expect(settings.current.value == 1)
    #expect(try settings.update { $0.value += 2 }.value == 3)
    let told = await SharedSettings<Watched>.take(1, of: changes)
    #expect(told.map(\.old.value) == [1] && told.map(\.new.value) == [3])
  }

  /// Promises: K-6
  @Test("Events of concurrent commits arrive once each, in the order of the commits") func threads()
    async throws
  {
    let folder = try TemporaryFolder()
    let settings = SharedSettings<Watched>(in: folder.home())
    let changes = settings.changes
    let hooks = Watched.Hooks(post: { old, new, settings in
      if old.value != new.value && new.value % 3 == 0 { try settings.update { $0.doubled += 1 } }
    })
    try await Watched.$hooks.withValue(hooks) {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<6 {
          group.addTask { for _ in 0..<20 { try settings.update { $0.value += 1 } } }
        }
        try await group.waitForAll()
      }
    }
    let doubled = settings.current.doubled
    let told = await SharedSettings<Watched>.take(120 + doubled, of: changes)
    #expect(settings.current.value == 120)
    #expect(zip(told, told.dropFirst()).allSatisfy { $0.new == $1.old })
    #expect(told.first?.old == Watched() && told.last?.new == settings.current)
    #expect(told.allSatisfy { $0.changedKeys.count == 1 && $0.origin == .thisProcess })
  }
}

/// Makes commits fail at their very end while it is on, as a full disk does.
private final class RefusedCommits: TransactionObserver, Sendable {
  let isOn = Mutex(false)

  func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
  func databaseDidChange(with event: DatabaseEvent) {}
  func databaseWillCommit() throws { if isOn.withLock({ $0 }) { throw UnknownTimeFormat() } }
  func databaseDidCommit(_ db: Database) {}
  func databaseDidRollback(_ db: Database) {}
}
