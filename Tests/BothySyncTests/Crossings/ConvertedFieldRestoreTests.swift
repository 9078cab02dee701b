import BothyStore
import BothySync
import BothyTesting
import Testing

@Suite("Restoring over a conversion", .timeLimit(.minutes(5)))
struct ConvertedFieldRestoreTests {
  /// Converts a number of euros to a text with cents.
  @Test("A lost value is converted with its field")
  func aLostValueIsNoOtherValueAfterAConversion() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1))
    let b = try world.device("b", memo(1), policy: .remoteWins)
    try a.put("Memo", "1", ["title": .text("one"), "count": .int(1)])
    await a.store.sync()
    await b.store.sync()
    try a.set("Memo", "1", ["count": .int(2)])
    await a.store.sync()
    try b.set("Memo", "1", ["count": .int(5)])
    await b.store.sync()
    #expect(try b.record("Memo", "1")?["count"] == .int(2))
    var texts = memo(2)
    texts.types[0].fields[2] = FieldSchema("count", .text, default: "0")
    try b.restart(
      schema: texts,
      migrations: [
        Migration(
          to: 2,
          .convertField(type: "Memo", field: "count", from: Int.self) {
            if case .int(let euros) = $0 { .text("\(euros * 100)") } else { .text("0") }
          })
      ])
    #expect(try b.record("Memo", "1")?["count"] == "200")
    let entry = try #require(try b.store.journal.entries(losing: true).first)
    do {
      try await b.store.journal.restore(entry)
      #expect(try b.record("Memo", "1")?["count"] == "500")
    } catch let error as BothyError {
      #expect(error.code == .notRestorable)
    }
  }
}
