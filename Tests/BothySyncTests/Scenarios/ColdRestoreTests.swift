import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

/// A server that is restored without a new epoch from a copy of the file, made while no server ran.
@Suite("Restores of a cold copy", .timeLimit(.minutes(5)))
struct ColdRestoreTests {
  private typealias Place = GivingBackTests.Place

  /// The clocks of the two runs: of right ones the second is a second later, and wrong ones are behind all changes.
  enum Clocks: CaseIterable {
    case right, wrong

    var lost: (time: Int64, random: Int64) { self == .right ? (1_800_000_000_000, 9) : (0, 7) }
    var new: (time: Int64, random: Int64) { self == .right ? (1_800_000_001_000, 0) : (0, 7_000_000) }
  }

  /// Two devices, of which B has an acknowledged edit of T1 that the restored server lacks, and A has edited it since.
  private struct Scene {
    let place: Place
    let a: SyncedStore
    let b: SyncedStore

    /// - Parameters:
    ///   - clocks: the clock and the random numbers of the run that is lost and of the restored server.
    init(_ clocks: Clocks, policy: SyncOptions.RestorePolicy = .request, isPending: Bool = false) async throws
    {
      place = try Place()
      a = try place.device("a", policy)
      b = try place.device("b", policy)
      try await a.store.write { transaction in
        for id in ["T0", "T1"] { try transaction.insert(Note(id: id, "old")) }
      }
      for store in [a, b] { #expect(await store.sync().obstacle == nil) }
      let backup = try await place.backup()
      try place.storage.close()
      try start(place.folder.path + "/server.sqlite", clocks.lost)
      try await Self.retitle(b, "acknowledged")
      #expect(await b.sync().obstacle == nil)
      if isPending { try await b.store.write { _ = try $0.update(Note.self, id: "T1") { $0.score += 1 } } }
      try place.storage.close()
      try start(backup, clocks.new)
      try await a.store.write { _ = try $0.update(Note.self, id: "T1") { $0.note = "of a" } }
      #expect(await a.sync().obstacle == nil)
    }

    private func start(_ path: String, _ clock: (time: Int64, random: Int64)) throws {
      let run = ServerRun(now: { clock.time }, random: { _ in clock.random })
      place.use(try SQLiteServerStorage(at: path, lanes: WriteQueues(), run: run))
    }

    private static func retitle(_ store: SyncedStore, _ title: String) async throws {
      try await store.store.write { _ = try $0.update(Note.self, id: "T1") { $0.title = title } }
    }

    func title(_ store: SyncedStore) throws -> String? { try store.store.fetch(Note.self, id: "T1")?.title }
  }

  /// Promises: Scenario-18
  @Test(
    "A device with lost changes is asked, though others have written since",
    arguments: Clocks.allCases, [false, true])
  func asked(clocks: Clocks, isPending: Bool) async throws {
    let scene = try await Scene(clocks, isPending: isPending)
    for _ in 0..<2 { #expect(await scene.b.sync().stop?.name == "otherServer") }
    #expect(try scene.title(scene.b) == "acknowledged")
    let report = try await scene.b.maintenance.uploadMine()
    #expect(report.obstacle == nil)
    try await scene.place.expectEven(scene.a, scene.b)
    #expect(try await scene.place.server()["T1"]?["note"] == "of a")
    let lost = try scene.b.journal.entries(losing: true).compactMap {
      try $0.lost?.members()["title"]?.stringValue
    }
    #expect(lost == ["acknowledged"])
    if isPending { #expect(try await scene.place.server()["T1"]?["score"] == 1) }
  }

  @Test("By policy acknowledged content that others wrote over is in the journal", arguments: Clocks.allCases)
  func givenBack(clocks: Clocks) async throws {
    let scene = try await Scene(clocks, policy: .giveBack)
    #expect(await scene.b.sync().obstacle == nil)
    try await scene.place.expectEven(scene.a, scene.b)
    #expect(try await scene.place.server()["T1"]?["note"] == "of a")
    let lost = try scene.b.journal.entries(losing: true).compactMap {
      try $0.lost?.members()["title"]?.stringValue
    }
    #expect(lost == ["acknowledged"])
  }

  @Test("An adopted server is reported with what it lost")
  func adopted() async throws {
    let scene = try await Scene(.right)
    #expect(try await scene.b.maintenance.adoptServer().lost == [.note("T1")])
    try await scene.place.expectEven(scene.a, scene.b)
    #expect(try scene.title(scene.b) == "old")
  }

  @Test("A device is asked though the copy is of a space without changes")
  func emptyCopy() async throws {
    let place = try Place()
    let a = try place.device("a")
    let b = try place.device("b")
    func start(_ path: String, at time: Int64) throws {
      let run = ServerRun(now: { time }, random: { _ in 0 })
      place.use(try SQLiteServerStorage(at: path, lanes: WriteQueues(), run: run))
    }
    // A write that stores no record begins the space.
    try await place.storage.write(space: "test") { _ in }
    for store in [a, b] { #expect(await store.sync().obstacle == nil) }
    let backup = try await place.backup()
    try place.storage.close()
    try start(place.folder.path + "/server.sqlite", at: 1_800_000_000_000)
    try await b.store.write { try $0.insert(Note(id: "T1", "lost")) }
    #expect(await b.sync().obstacle == nil)
    try place.storage.close()
    try start(backup, at: 1_800_000_001_000)
    try await a.store.write { transaction in
      for id in ["T2", "T3"] { try transaction.insert(Note(id: id, "new")) }
    }
    #expect(await a.sync().obstacle == nil)
    #expect(await b.sync().stop?.name == "otherServer")
    #expect(try await b.maintenance.uploadMine().obstacle == nil)
    try await place.expectEven(a, b)
    #expect(try await place.titles() == ["T1": "lost", "T2": "new", "T3": "new"])
  }

  @Test("A later start from the same copy begins at higher positions")
  func order() {
    let starts = [0, 1, 1000, 86_400_000].map { later in
      ServerRun(now: { 1_800_000_000_000 + later }).start(after: 1000)
    }
    #expect(zip(starts, starts.dropFirst()).allSatisfy { $0 < $1 })
    #expect(starts[2] - starts[0] > 2_000_000)
  }

  @Test("Two starts differ by chance where the clock is behind, and skip many positions")
  func chance() {
    let run = ServerRun(now: { 0 })
    let starts = (0..<100).map { _ in run.start(after: 1000) }
    #expect(Set(starts).count > 90)
    #expect(starts.allSatisfy { (268_435_000..<536_872_000).contains($0) })
  }

  @Test("Positions stay exact in JSON after a million starts, whatever the clock says")
  func bound() {
    for time in [0, 1_800_000_000_000, Int64.max] {
      let longest = ServerRun(now: { time }, random: { $0.upperBound - 1 })
      var position: Int64 = 1
      for _ in 0..<1_000_000 { position = longest.start(after: position) }
      #expect(position < ServerRun.limit)
    }
    let longest = ServerRun(now: { 0 }, random: { $0.upperBound - 1 })
    for position in [ServerRun.limit - 1, ServerRun.limit, .max] {
      #expect(longest.start(after: position) == position)
    }
    #expect(longest.start(after: ServerRun.limit - (1 << 22)) == ServerRun.limit - (1 << 22) + 3)
  }
}
