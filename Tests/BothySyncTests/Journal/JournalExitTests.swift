import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

/// The ways in which pending work ends, with one story for each. The journal has the verdict and the lost content.
@Suite("Nothing pending ends without a trace", .timeLimit(.minutes(5)))
struct JournalExitTests {
  struct Exit: Sendable, CustomTestStringConvertible {
    var cause: JournalEntry.Cause
    var outcome: String
    var lost: [String] = []
    /// Ends the work, and returns the device's store. `world` keeps the rest of the story alive until the journal is
    /// read.
    var story: @Sendable () async throws -> (store: SyncedStore, world: Any)

    var testDescription: String { cause.name }
  }

  private static func name(_ outcome: SaveOutcome) -> String {
    String("\(outcome)".prefix { $0 != "(" })
  }

  @Test("Every way in which pending work ends leaves its verdict and lost content", arguments: Self.exits)
  func exit(_ exit: Exit) async throws {
    let (store, world) = try await exit.story()
    defer { withExtendedLifetime(world) {} }
    let entries = try store.journal.entries().filter { $0.cause == exit.cause }
    let entry = try #require(entries.last)
    #expect(Self.name(entry.outcome) == exit.outcome)
    #expect(entry.lostFields.map(\.name) == exit.lost)
    #expect(entry.isFinal == (exit.cause != .rejected))
    #expect(try store.outboxEntries().allSatisfy { $0.reason != nil })
  }

  @Test("Each cause in the journal has a story")
  func complete() {
    #expect(Set(Self.exits.map(\.cause)) == Set(JournalEntry.Cause.allCases))
  }

  /// Returns a pair on which T1 and T2 were changed here, in one transaction or not, and T1 by others too.
  private static func conflict(
    _ delivery: WriteGrouping = .independent, _ configure: (inout SyncOptions) -> Void = { _ in }
  ) async throws -> Pair {
    let pair = try await Pair.sharing(["T1", "T2"], configure)
    try pair.b.retitle("theirs")
    await pair.b.store.sync()
    try await pair.a.store.write(delivery) { transaction in
      for id in ["T1", "T2"] { _ = try transaction.update(Note.self, id: id) { $0.title = "mine" } }
    }
    await pair.a.store.sync()
    return pair
  }

  private static func edited() async throws -> Pair {
    let pair = try await Pair.sharing()
    try pair.a.retitle("mine")
    return pair
  }

  private static func refused(_ policy: SyncOptions.RejectionPolicy) async throws -> Pair {
    let pair = try await Pair.sharing(rules: .withoutNotes) { $0.rejectionPolicy = policy }
    try pair.a.edit { $0.note = "refused" }
    await pair.a.store.sync()
    return pair
  }

  private static let exits: [Exit] = [
    Exit(cause: .acknowledged, outcome: "accepted") {
      let pair = try Pair()
      try pair.a.insert("T1", "a")
      await pair.a.store.sync()
      return (pair.a.store, pair.world)
    },
    Exit(cause: .agreed, outcome: "accepted") {
      let pair = try Pair()
      for device in [pair.b, pair.a] {
        try device.insert("T1", "same")
        await device.store.sync()
      }
      return (pair.a.store, pair.world)
    },
    Exit(cause: .merge, outcome: "overwritten", lost: ["title"]) {
      let pair = try await conflict()
      return (pair.a.store, pair.world)
    },
    Exit(cause: .atomic, outcome: "overwritten", lost: ["title"]) {
      let pair = try await conflict(.atomic)
      return (pair.a.store, pair.world)
    },
    Exit(cause: .rejectionPolicy, outcome: "rejected", lost: ["note"]) {
      let pair = try await refused(.discardAndRefetch)
      return (pair.a.store, pair.world)
    },
    Exit(cause: .rejected, outcome: "rejected") {
      let pair = try await refused(.keepPending)
      return (pair.a.store, pair.world)
    },
    Exit(cause: .reverted, outcome: "withdrawn", lost: ["title"]) {
      let pair = try await edited()
      try pair.a.store.resolve(.note(), .revert)
      return (pair.a.store, pair.world)
    },
    Exit(cause: .keptLocal, outcome: "withdrawn", lost: ["title"]) {
      let pair = try await edited()
      try pair.a.store.resolve(.note(), .keepLocal)
      return (pair.a.store, pair.world)
    },
    Exit(cause: .evicted, outcome: "withdrawn", lost: ["title"]) {
      let pair = try await edited()
      try pair.a.store.resolve(.note(), .removeLocal)
      return (pair.a.store, pair.world)
    },
    Exit(cause: .orphaned, outcome: "overwritten", lost: ["name", "parent"]) {
      let pair = try Pair(schema: .family, rules: .family)
      try pair.b.put(.parent("P"))
      await pair.b.store.sync()
      await pair.a.store.sync()
      try pair.a.put(.child("C", of: "P"))
      try pair.b.change { _ = try $0.delete(RecordID(type: "Parent", id: "P")) }
      await pair.b.store.sync()
      await pair.a.store.sync(.pull)
      return (pair.a.store, pair.world)
    },
    Exit(cause: .takenBack, outcome: "withdrawn") {
      let pair = try Pair()
      try pair.a.insert("T1", "a")
      try pair.a.remove()
      return (pair.a.store, pair.world)
    },
    Exit(cause: .purged, outcome: "withdrawn") {
      let pair = try await edited()
      try pair.a.store.purge(.note(), includingPending: true)
      return (pair.a.store, pair.world)
    },
    Exit(cause: .otherHistory, outcome: "accepted") {
      let folder = try TemporaryFolder()
      let remote = SwitchedRemote()
      remote.target = InProcessRemote(
        SyncService(
          storage: try SQLiteServerStorage(at: folder.path + "/1.sqlite"), now: VirtualTime().reader()))
      let store = try SyncedStore(
        at: folder.path + "/a.sqlite", schema: .notes, remote: remote, configuration: .quiet,
        options: StoreOptions(processes: .single))
      try await store.write { try $0.insert(Note(id: "T1", "a")) }
      await store.sync()
      try await store.delete(.note())
      remote.target = InProcessRemote(
        SyncService(
          storage: try SQLiteServerStorage(at: folder.path + "/2.sqlite"), now: VirtualTime().reader()))
      await store.sync()
      try await store.maintenance.adoptServer()
      return (store, folder)
    },
    Exit(cause: .unsendable, outcome: "withdrawn") {
      let pair = try await edited()
      try await pair.a.store.store.write(origin: .remote) { transaction in
        _ = try transaction.evict(transaction.catalog.table("Note"), id: "T1")
      }
      await pair.a.store.sync()
      return (pair.a.store, pair.world)
    },
    Exit(cause: .online, outcome: "accepted") {
      let pair = try await Pair.sharing()
      try await pair.a.store.save(Note(id: "T1", "mine"), options: .saving(.remoteThenLocal))
      return (pair.a.store, pair.world)
    },
    Exit(cause: .typeDropped, outcome: "withdrawn") {
      let pair = try Pair(schema: .family)
      try pair.a.put(AnyRecord("Pet", id: "P", ["name": "rex"]))
      var schema = StoreSchema.family
      schema.types.removeAll { $0.name == "Pet" }
      schema.version += 1
      try pair.a.restart(schema: schema, migrations: [Migration(to: schema.version, .dropType("Pet"))])
      return (pair.a.store, pair.world)
    },
  ]
}
