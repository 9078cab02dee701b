import BothyStore
import BothySync
import BothyTesting
import Testing

@Suite("Types that are dropped and declared again", .timeLimit(.minutes(2)))
struct TypeDeclaredAgainTests {
  @Test("The records of a dropped type come again when it is declared again", arguments: [false, true])
  func dropped(isAtOnce: Bool) async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1))
    let b = try world.device("b", memo(1))
    try a.put("Memo", "1", ["title": .text("one")])
    await a.store.sync()
    await b.store.sync()
    #expect(try b.ids(AnyQuery("Memo")) == ["1"])
    let drop = Migration(to: 2, .dropType("Memo"))
    if !isAtOnce {
      try b.restart(schema: memo(2, name: "Page"), migrations: [drop])
      #expect(await b.store.sync().obstacle == nil)
    }
    var schema = memo(3, name: "Page")
    schema.types += memo(3).types
    try b.restart(schema: schema, migrations: [drop])
    let before = try await b.store.fetchResult(AnyQuery("Memo"), options: RequestOptions(readPolicy: .local))
    #expect(before.records.isEmpty && !before.isComplete)
    #expect(await b.store.sync().obstacle == nil)
    #expect(try b.ids(AnyQuery("Memo")) == ["1"])
    #expect(try await b.store.maintenance.verify())
  }
}
