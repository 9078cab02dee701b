import BothyStore
import Foundation
import Testing

/// A measurement, with fields whose names SQL and the compiler of aggregates use too.
struct Gauge: Entity, Equatable {
  struct Fields: Sendable {
    let id = Field<String>("id")
    let value = Field<Int>("value")
    let key = Field<String?>("key")
    let cost = Field<Decimal?>("cost")
    let place = Field<Coordinate?>("place")
    let source = Field<Reference<Gauge>?>("source")
  }
  static let fields = Fields()
  static let schema = TypeSchema(
    "Gauge",
    fields: [
      .field("value", Int.self), .field("key", String?.self), .field("cost", Decimal?.self),
      .field("place", Coordinate?.self), .field("source", Reference<Gauge>?.self),
    ])

  var id: String
  var value: Int
  var key: String?
  var cost: Decimal?
  var place: Coordinate?
  var source: Reference<Gauge>?

  init(
    _ id: String, _ value: Int, key: String? = nil, cost: Decimal? = nil, place: Coordinate? = nil,
    source: String? = nil
  ) {
    (self.id, self.value, self.key, self.cost, self.place) = (id, value, key, cost, place)
    self.source = source.map { Reference(id: $0) }
  }

  func encode(to fields: inout FieldEncoder) {
    value.encodeField(to: &fields)
    key.encodeField(to: &fields)
    cost.encodeField(to: &fields)
    place.encodeField(to: &fields)
    source.encodeField(to: &fields)
  }

  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    value = try Int(fromField: &fields)
    key = try String?(fromField: &fields)
    cost = try Decimal?(fromField: &fields)
    place = try Coordinate?(fromField: &fields)
    source = try Reference<Gauge>?(fromField: &fields)
  }
}

/// Numbers and values computed from records.
@Suite(.timeLimit(.minutes(5))) struct AggregateTests {
  private func store(_ gauges: [Gauge]) throws -> LocalStore {
    let store = try LocalStore(inMemory: StoreSchema(Gauge.self))
    try store.write { transaction in
      for gauge in gauges { try transaction.insert(gauge) }
    }
    return store
  }

  @Test("The first records by a field count, whatever its name")
  func sortKeys() throws {
    let store = try store([
      Gauge("a", 1, key: "z", cost: 30), Gauge("b", 2, key: "y", cost: 20), Gauge("c", 3, key: "x", cost: 10),
    ])
    let byValue = Gauge.all.order(by: \.value).limit(2)
    #expect(try store.read { try $0.fetch(byValue.sum(\.cost)) } == 50)
    let byKey = Gauge.all.order(by: \.key).limit(1)
    #expect(try store.read { try $0.fetch(byKey.group(by: \.value).count()) }.map(\.key) == [3])
  }

  @Test("Different values come once, in order, without null")
  func distinct() throws {
    let store = try store([
      Gauge("a", 1, key: "z", cost: 9, source: "c"), Gauge("b", 1, key: "y"), Gauge("c", 3, cost: 10.5),
      Gauge("d", 2, key: "z", cost: 10.5, source: "c"),
    ])
    #expect(try store.read { try $0.fetch(Gauge.all.distinct(\.key)) } == ["y", "z"])
    #expect(try store.read { try $0.fetch(Gauge.all.distinct(\.value)) } == [1, 2, 3])
    #expect(try store.read { try $0.fetch(Gauge.all.distinct(\.cost)) } == [9, 10.5])
    #expect(try store.read { try $0.fetch(Gauge.all.distinct(\.source)) }.map(\.id) == ["c"])
    #expect(try store.read { try $0.fetch(Gauge.all.limit(2).distinct(\.value)) } == [1])
    #expect(try store.read { try $0.fetch(Gauge.where { $0.value > 5 }.distinct(\.key)) }.isEmpty)
    #expect(try store.read { try $0.fetch(Gauge.all.count(distinct: \.key)) } == 2)
    #expect(try store.read { try $0.fetch(Gauge.all.count(distinct: \.cost)) } == 2)
    #expect(try store.read { try $0.fetch(Gauge.all.limit(2, offset: 1).count(distinct: \.key)) } == 1)
    expect(.invalidQuery) { _ = try store.read { try $0.fetch(Gauge.all.count(distinct: \.place)) } }
  }

  @Test("Groups have sums, means and bounds of their values, also of optional fields")
  func groups() throws {
    let store = try store([
      Gauge("a", 1, key: "x", cost: 3), Gauge("b", 2, key: "x"), Gauge("c", 6, key: "y", cost: 10.5),
      Gauge("d", 4, key: "y", cost: 9), Gauge("e", 5),
    ])
    let groups = Gauge.all.group(by: \.key)
    let sums = try store.read { try $0.fetch(groups.sum(\.cost)) }
    #expect(sums.map(\.key) == [nil, "x", "y"] && sums.map(\.value) == [0, 3, 19.5])
    #expect(try store.read { try $0.fetch(groups.average(\.value)) }.map(\.value) == [5, 1.5, 5])
    #expect(try store.read { try $0.fetch(groups.average(\.cost)) }.map(\.value) == [nil, 3, 9.75])
    #expect(try store.read { try $0.fetch(groups.minimum(\.cost)) }.map(\.value) == [nil, 3, 9])
    #expect(try store.read { try $0.fetch(groups.maximum(\.value)) }.map(\.value) == [5, 2, 6])
    #expect(try store.read { try $0.fetch(groups.maximum(\.source)) }.allSatisfy { $0.value == nil })
    expect(.invalidQuery) { _ = try store.read { try $0.fetch(groups.minimum(\.place)) } }
  }

  @Test("A condition on a mean takes nil for a group without values")
  func missingValues() throws {
    let store = try store([
      Gauge("a", 1, key: "x", cost: 3), Gauge("b", 2, key: "y"), Gauge("c", 3, key: "z", cost: 10.5),
    ])
    let groups = Gauge.all.group(by: \.key)
    let costly = try store.read { try $0.fetch(groups.average(\.cost, having: { $0 > 4 })) }
    #expect(costly.map(\.key) == ["z"])
    let unknown = try store.read { try $0.fetch(groups.minimum(\.cost, having: { $0 == nil })) }
    #expect(unknown.map(\.key) == ["y"])
    let free = try store.read { try $0.fetch(groups.sum(\.cost, having: { $0 == 0 })) }
    #expect(free.map(\.key) == ["y"])
  }
}
