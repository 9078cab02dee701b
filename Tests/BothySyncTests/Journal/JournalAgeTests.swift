import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Synchronization
import Testing

/// The age of the journal's entries on a device whose clock is wrong at times.
@Suite("The age of the journal's entries", .timeLimit(.minutes(5)))
struct JournalAgeTests {
  private static let day: Int64 = 86_400_000

  /// The error of a device's clock, which a test sets.
  private final class Skew: Sendable {
    private let days = Mutex<Int64>(0)

    func set(days: Int64) { self.days.withLock { $0 = days } }

    var milliseconds: Int64 { days.withLock { $0 } * JournalAgeTests.day }
  }

  private let folder: TemporaryFolder
  private let world: SimulatedWorld
  private let other: SimulatedDevice
  private let skew = Skew()

  /// Creates a server with T1, and another device that holds it.
  init() async throws {
    folder = try TemporaryFolder()
    world = try SimulatedWorld()
    other = try world.addDevice("other", schema: .notes)
    try other.insert("T1", "start")
    await other.store.sync()
  }

  /// Opens the device as a new process does.
  private func launch() throws -> SyncedStore {
    let (time, skew) = (world.time, skew)
    return try SyncedStore(
      at: folder.file("own.sqlite"), schema: .notes, remote: InProcessRemote(world.service),
      configuration: .quiet, clock: SyncClock(now: { time.now + skew.milliseconds }))
  }

  /// Lets an edit made here give way to one of the other device.
  private func lose(_ store: SyncedStore, _ title: String = "mine") async throws {
    #expect(await store.sync().obstacle == nil)
    try await store.store.write { _ = try $0.update(Note.self, id: "T1") { $0.title = title } }
    try other.retitle("of the other, over \(title)")
    await other.store.sync()
    #expect(await store.sync().obstacle == nil)
  }

  private func lost(_ store: SyncedStore) throws -> [String] {
    try store.journal.entries(losing: true).compactMap { try $0.lost?.members()["title"]?.stringValue }
  }

  @Test("A clock that jumps ahead for some launches and syncs removes nothing", arguments: [31, 4000])
  func ahead(days: Int64) async throws {
    var store = try launch()
    try await lose(store)
    try store.store.close()
    skew.set(days: days)
    store = try launch()
    #expect(try lost(store) == ["mine"])
    #expect(await store.sync().obstacle == nil)
    try await lose(store, "second")
    #expect(try lost(store) == ["second", "mine"])
    try store.store.close()
    skew.set(days: 0)
    store = try launch()
    #expect(await store.sync().obstacle == nil)
    #expect(try lost(store) == ["second", "mine"])
  }

  @Test("An entry of a slow clock has the server's time, and its full age")
  func behind() async throws {
    skew.set(days: -40)
    var store = try launch()
    try await lose(store)
    let entry = try #require(try store.journal.entries(losing: true).first)
    #expect(abs(entry.decided - world.time.now) < 60_000)
    try store.store.close()
    skew.set(days: 0)
    store = try launch()
    world.time.advance(by: 29 * Self.day)
    try await lose(store, "second")
    #expect(try lost(store) == ["second", "mine"])
    world.time.advance(by: 2 * Self.day)
    try await lose(store, "third")
    #expect(try lost(store) == ["third", "second"])
  }

  @Test("A decision made before any answer lives from the first answer on")
  func offline() async throws {
    var store = try launch()
    #expect(await store.sync().obstacle == nil)
    try store.store.close()
    skew.set(days: -400)
    store = try launch()
    try await store.store.write { _ = try $0.update(Note.self, id: "T1") { $0.title = "reverted" } }
    try store.resolve(.note(), .revert)
    #expect(try lost(store) == ["reverted"])
    try store.store.close()
    skew.set(days: 0)
    store = try launch()
    try await lose(store)
    #expect(try lost(store) == ["mine", "reverted"])
  }

  @Test("Entries expire on a device that only pulls too")
  func pulling() async throws {
    let store = try launch()
    try await lose(store)
    world.time.advance(by: 31 * Self.day)
    try other.retitle("later")
    await other.store.sync()
    #expect(await store.sync().pulled == 1)
    #expect(try store.journal.entries().isEmpty)
  }
}
