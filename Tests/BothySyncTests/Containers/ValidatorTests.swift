import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// The validator of the next pull, and the operations that may change it.
@Suite("Validators", .timeLimit(.minutes(5)))
struct ValidatorTests {
  /// Promises: N-23, H-10, C-18
  @Test("Validators come from pulls alone, so a push hides nothing of others")
  func fromPullsAlone() async throws {
    let pair = try await Pair.sharing()
    let before = try #require(try pair.a.store.validator(for: "Note"))
    try pair.b.insert("X", "theirs")
    await pair.b.store.sync()
    try pair.a.insert("Y", "mine")
    #expect(await pair.a.store.sync(.push).pushed == 1)
    #expect(try pair.a.store.validator(for: "Note") == before)
    try await pair.a.store.save(Note(id: "Z", "mine"), options: RequestOptions(writePolicy: .remoteThenLocal))
    #expect(try pair.a.store.validator(for: "Note") == before)
    await pair.a.store.sync()
    #expect(try pair.a.noteIDs() == ["T1", "X", "Y", "Z"])
    #expect(try pair.a.store.validator(for: "Note") != before)
  }

  /// Promises: H-9, C-18
  @Test("Two changes in one millisecond are both seen, although one follows a pull")
  func sameMoment() async throws {
    let pair = try await Pair.sharing()
    try pair.b.insert("first", "n")
    await pair.b.store.sync()
    await pair.a.store.sync()
    try pair.b.insert("second", "n")
    await pair.b.store.sync()
    await pair.a.store.sync()
    #expect(try pair.a.noteIDs() == ["T1", "first", "second"])
  }

  /// Promises: N-42
  @Test("A pull without news brings nothing and leaves the store unchanged")
  func notModified() async throws {
    let pair = try await Pair.sharing()
    let validator = try pair.a.store.validator(for: "Note")
    let report = await pair.a.store.sync()
    #expect(report.pulled == 0 && report.requests == 1)
    #expect(pair.a.remote.requests.last?.pulls.first?.cursor == validator)
    #expect(try pair.a.title() == "start")
  }

  /// Promises: N-15, N-23
  @Test("A reset validator makes the next pull complete, while existing records stay readable")
  func reset() async throws {
    let pair = try await Pair.sharing(["T1", "T2"])
    try pair.a.retitle("T2", "mine")
    try pair.a.store.resetValidator(of: "Note")
    #expect(try pair.a.store.validator(for: "Note") == nil)
    #expect(try pair.a.noteIDs() == ["T1", "T2"])
    await pair.a.store.sync(.pull)
    #expect(pair.a.remote.requests.last?.pulls.first?.cursor == nil)
    #expect(try pair.a.title("T2") == "mine")
    #expect(try await pair.isEven())
  }

  /// Promises: N-15
  @Test("A sync that runs during a reset doesn't store its older validator", arguments: [1, 1000])
  func resetDuringSync(pageSize: Int) async throws {
    let pair = try await Pair.sharing { $0.pageSize = pageSize }
    for id in ["T2", "T3", "T4"] { try pair.b.insert(id, "n") }
    await pair.b.store.sync()
    let store = pair.a.store
    let calls = Calls()
    pair.a.remote.setDuringExchange {
      guard calls.add() == 1 else { return }
      do { try store.resetValidator(of: "Note") } catch { Issue.record(error) }
    }
    #expect(await store.sync(.pull).obstacle == nil)
    let cursors = pair.a.remote.requests.map { $0.pulls.first?.cursor }
    #expect(cursors.first != .some(nil))
    #expect(cursors.dropFirst().first == .some(nil))
    #expect(try pair.a.noteIDs() == ["T1", "T2", "T3", "T4"])
    #expect(try await pair.isEven())
  }
}
