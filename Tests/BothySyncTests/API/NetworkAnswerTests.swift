import BothyStore
import BothySync
import BothyTesting
import Testing

/// Reads from the server, beside the records and pending changes of the device.
@Suite("Responses from the network", .timeLimit(.minutes(5)))
struct NetworkAnswerTests {
  private static let fresh = RequestOptions(readPolicy: .remote)
  private static let uncached = RequestOptions(readPolicy: .remote, cacheResults: false)

  private func titles(
    _ query: RecordQuery<Note>, _ pair: Pair, _ options: RequestOptions = Self.fresh
  ) async throws -> [String] {
    try await pair.a.store.fetchResult(query, options: options).records.map(\.title)
  }

  @Test("A query with a limit omits records that the server deleted or changed", arguments: [true, false])
  func limited(isSynced: Bool) async throws {
    let pair = try Pair()
    for number in 0..<6 { try pair.b.insert("\(number)", "t\(number)") }
    await pair.b.store.sync()
    if isSynced { await pair.a.store.sync() }
    let first = RecordQuery<Note>().order(SortKey("title")).limit(2)
    #expect(try await titles(first, pair) == ["t0", "t1"])
    try pair.b.remove("0")
    await pair.b.store.sync()
    #expect(try await titles(first, pair) == ["t1", "t2"])
    try pair.b.retitle("1", "x")
    await pair.b.store.sync()
    #expect(try await titles(first, pair) == ["t2", "t3"])
    try pair.a.remove("2")
    #expect(try await titles(first, pair) == ["t3", "t4"])
    try pair.a.retitle("3", "z")
    #expect(try await titles(first, pair) == ["t4", "t5"])
    try pair.a.insert("new", "t1")
    #expect(try await titles(first, pair) == ["t1", "t4"])
    #expect(
      try await titles(RecordQuery<Note>().order(SortKey("title")).limit(2, offset: 1), pair) == ["t4", "t5"])
  }

  @Test("A response that isn't stored respects condition, order and pending work too")
  func uncached() async throws {
    let pair = try await Pair.sharing([])
    for title in ["a", "b"] { try pair.b.insert(title, title) }
    await pair.b.store.sync()
    await pair.a.store.sync()
    try pair.a.insert("new", "aa")
    try pair.a.retitle("a", "z")
    let all = RecordQuery<Note>().order(SortKey("title"))
    for query in [
      all, all.where(.compare(field: "title", .less, .text("c"))), all.limit(1), all.limit(1, offset: 1),
    ] {
      let expected = try await pair.a.store.store.fetch(query).map(\.title)
      #expect(try await titles(query, pair, Self.uncached) == expected)
      #expect(try await titles(query, pair) == expected)
    }
  }

  @Test("More records than one request takes can have vanished from the server")
  func manyVanished() async throws {
    let pair = try await Pair.sharing([])
    let ids = (0..<10_500).map { "n\($0)" }
    try pair.b.change { transaction in for id in ids { try transaction.insert(Note(id: id, "x")) } }
    await pair.b.store.sync()
    await pair.a.store.sync()
    #expect(try pair.a.noteIDs().count == ids.count)
    try pair.b.change { transaction in for id in ids { _ = try transaction.delete(Note.self, id: id) } }
    await pair.b.store.sync()
    #expect(try await titles(RecordQuery<Note>(), pair).isEmpty)
  }
}
