import BothyStore
import BothySync
import BothyTesting
import Testing

@Suite("Sharing among stacked changes", .timeLimit(.minutes(5)))
struct SharingOfStacksTests {
  private let one = RecordID(type: "Memo", id: "1")

  enum Step: String, CaseIterable { case edit, atomic, share, draftless }

  /// Compares the audience on the device with the server's once all is sent.
  @Test(
    "Sharing is the server's after any order of edits and shares", arguments: ["new", "known", "givesWay"],
    ["st", "ts", "tst", "tset", "tstt", "ets", "etst", "sts"])
  func theDeviceKnows(start: String, steps: String) async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1), policy: .remoteWins)
    a.store.options.writePolicy = .local
    let b = try world.device("b", memo(1))
    try a.put("Memo", "2", ["title": .text("beside")])
    if start == "known" { try a.put("Memo", "1", ["title": .text("one")]) }
    await a.store.sync()
    await b.store.sync()
    if start == "givesWay" {
      try b.set("Memo", "2", ["title": .text("theirs")])
      await b.store.sync()
      try a.atomic {
        try $0.insert(AnyRecord("Memo", id: "1", ["title": .text("one")]))
        _ = try $0.update(RecordID(type: "Memo", id: "2"), fields: ["title": .text("mine")])
      }
    }
    if start == "new" {
      try a.atomic {
        try $0.insert(AnyRecord("Memo", id: "1", ["title": .text("one")]))
        try $0.insert(AnyRecord("Memo", id: "3", ["title": .text("third")]))
      }
    }
    for (number, step) in steps.enumerated() {
      switch step {
      case "e": try a.set("Memo", "1", ["title": .text("e\(number)")])
      case "t": try a.atomic { _ = try $0.update(one, fields: ["note": .text("t\(number)")]) }
      default: try await a.store.sharing.share(one, with: .users("bob"))
      }
    }
    for _ in 0..<3 { await a.store.sync() }
    #expect(try a.store.outboxEntries().isEmpty)
    #expect(try await world.serverRecords()[one]?.sharing == .users("bob"))
    #expect(try a.store.audience(of: one) == .users("bob"))
  }
}
