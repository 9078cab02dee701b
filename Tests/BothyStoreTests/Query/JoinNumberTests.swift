import BothyStore
import Foundation
import Testing

/// Numbers of the children of each record.
@Suite(.timeLimit(.minutes(5))) struct JoinNumberTests {
  private func values<Row, Value>(
    _ query: JoinQuery<Joined<Row, Value>>, in store: LocalStore
  ) throws -> [Value] { try store.read { try $0.fetch(query) }.map(\.related) }

  private func store(_ gauges: [Gauge]) throws -> LocalStore {
    let store = try LocalStore(inMemory: StoreSchema(Gauge.self))
    try store.write { transaction in
      for gauge in gauges { try transaction.insert(gauge) }
    }
    return store
  }

  @Test("A record comes with the numbers of its children, and without children with none")
  func numbers() throws {
    let store = try store([
      Gauge("a", 1), Gauge("b", 2, cost: 0.1, source: "a"), Gauge("c", 7, cost: 0.2, source: "a"),
      Gauge("d", 5, key: "x", source: "a"), Gauge("e", 9),
    ])
    let (parents, all) = (Gauge.where { $0.source == nil }, Gauge.all)
    let tenths = try #require(Decimal(string: "0.3"))
    #expect(try values(parents.withCount(of: all, by: \.source), in: store) == [3, 0])
    #expect(try values(parents.withSum(of: \.value, in: all, by: \.source), in: store) == [14, 0])
    #expect(try values(parents.withSum(of: \.cost, in: all, by: \.source), in: store) == [tenths, 0])
    let means = try values(parents.withAverage(of: \.cost, in: all, by: \.source), in: store)
    #expect(means[1] == nil && abs((means[0] ?? 0) - 0.15) < 1e-9)
    #expect(try values(parents.withMinimum(of: \.key, in: all, by: \.source), in: store) == ["x", nil])
    #expect(try values(parents.withMaximum(of: \.value, in: all, by: \.source), in: store) == [7, nil])
    #expect(try values(parents.limit(1, offset: 1).withCount(of: all, by: \.source), in: store) == [0])
    expect(.invalidQuery) {
      _ = try values(parents.withMinimum(of: \.place, in: all, by: \.source), in: store)
    }
    expect(.invalidQuery) { _ = try values(parents.withCount(of: all.limit(-1), by: \.source), in: store) }
  }

  @Test("A limit of the children holds for each record, in their order")
  func limits() throws {
    let store = try store([
      Gauge("a", 0), Gauge("b", 0), Gauge("c", 3, source: "a"), Gauge("d", 1, source: "a"),
      Gauge("e", 2, source: "a"), Gauge("f", 8, source: "b"),
    ])
    let (parents, all) = (Gauge.where { $0.source == nil }, Gauge.all.order(by: \.value, .descending))
    #expect(try values(parents.withSum(of: \.value, in: all.limit(2), by: \.source), in: store) == [5, 8])
    let later = all.limit(2, offset: 1)
    #expect(try values(parents.withSum(of: \.value, in: later, by: \.source), in: store) == [3, 0])
    #expect(try values(parents.withCount(of: later, by: \.source), in: store) == [2, 0])
    #expect(try values(parents.withMaximum(of: \.value, in: later, by: \.source), in: store) == [2, nil])
    #expect(try values(parents.withCount(of: all.limit(0), by: \.source), in: store) == [0, 0])
    let lists = try values(parents.with(later, by: \.source), in: store)
    #expect(lists.map(\.count) == [2, 0])
  }

  private static func fingerprint(
    of request: some ReadRequest, in transaction: ReadTransaction
  ) throws -> Int? {
    var fingerprint: RowFingerprint? = RowFingerprint()
    _ = try request.plan.run(transaction, &fingerprint)
    return fingerprint?.value
  }

  @Test("A child that changes no number is no news")
  func news() async throws {
    let store = try store([Gauge("a", 0)])
    let costs = Gauge.where { $0.source == nil }.withSum(of: \.cost, in: Gauge.all, by: \.source)
    var sums = store.values(of: costs).makeAsyncIterator()
    #expect(try await sums.next()?.map(\.related) == [0])
    let before = try await store.read { try Self.fingerprint(of: costs, in: $0) }
    try await store.write { try $0.insert(Gauge("b", 1, source: "a")) }
    #expect(try await store.read { try Self.fingerprint(of: costs, in: $0) } == before)
    try await store.write { try $0.insert(Gauge("c", 1, cost: 2, source: "a")) }
    #expect(try await sums.next()?.map(\.related) == [2])
  }
}
