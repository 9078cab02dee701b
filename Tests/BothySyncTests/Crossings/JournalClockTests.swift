import BothyStore
import BothySync
import BothyTesting
import Testing

@Suite("The journal's clock", .timeLimit(.minutes(5)))
struct JournalClockTests {
  @Test("A purge is decided by the server's clock")
  func aPurgeIsDecidedByTheServersClock() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1))
    try a.put("Memo", "A", ["title": .text("a")])
    try a.put("Memo", "B", ["title": .text("b")])
    await a.store.sync()
    let (one, two) = (RecordID(type: "Memo", id: "A"), RecordID(type: "Memo", id: "B"))
    try a.atomic {
      _ = try $0.update(one, fields: ["title": .text("a1")])
      _ = try $0.update(two, fields: ["title": .text("first")])
    }
    try a.store.purge(one, includingPending: true)
    for entry in try a.store.journal.entries() where entry.cause == .purged {
      #expect(abs(entry.decided - world.time.now) < 60_000)
    }
  }

  /// Keeps an undone change by the clock that the device was given, not by the clock of its system.
  @Test("An undone change is kept for thirty days by the given clock")
  func whatWasUndoneIsKeptForThirtyDays() async throws {
    let world = try SimulatedWorld(time: VirtualTime(1_900_000_000_000))
    let a = try world.device("a", memo(1))
    try a.put("Memo", "A", ["title": .text("a")])
    try a.put("Memo", "B", ["title": .text("b")])
    await a.store.sync()
    let (one, two) = (RecordID(type: "Memo", id: "A"), RecordID(type: "Memo", id: "B"))
    try a.atomic {
      _ = try $0.update(one, fields: ["title": .text("a1")])
      _ = try $0.update(two, fields: ["title": .text("first")])
    }
    try a.store.purge(one, includingPending: true)
    #expect(try a.store.journal.entries(of: two, losing: true).count == 1)
    try a.put("Memo", "C", ["title": .text("c")])
    await a.store.sync()
    #expect(try a.store.journal.entries(of: two, losing: true).count == 1)
  }
}
