import BothyStore
import Foundation
import Testing

/// Some fields of records, as values, tuples and structs.
@Suite(.timeLimit(.minutes(5))) struct SelectTests {
  struct Line: Decodable, Equatable {
    var id: String
    var value: Int
    var cost: Decimal?
    var source: String?
    var latitude: Double?
    var key: String?

    enum CodingKeys: String, CodingKey {
      case id, value, cost, source, key
      case latitude = "place_lat"
    }
  }

  let store: LocalStore

  init() throws {
    store = try LocalStore(inMemory: StoreSchema(Gauge.self, Book.self, Shelf.self))
    let large = Decimal(sign: .plus, exponent: -10, significand: Decimal(123_456_789_012_345_678))
    let north = Coordinate(latitude: 78.2, longitude: 15.6)
    try store.write { transaction in
      try transaction.insert(Gauge("a", 3, key: "x", cost: large, place: north, source: "b"))
      try transaction.insert(Gauge("b", 1, key: "y"))
      try transaction.insert(Gauge("c", 2, cost: 5))
    }
  }

  private func rows<Row>(_ query: JoinQuery<Row>) throws -> [Row] { try store.read { try $0.fetch(query) } }

  @Test("Fields come in the order of the query, within its limit")
  func values() throws {
    let byValue = Gauge.all.order(by: \.value, .descending)
    #expect(try rows(byValue.select(\.key)) == ["x", nil, "y"])
    #expect(try rows(byValue.limit(1, offset: 1).select(\.value)) == [2])
    let pairs = try rows(Gauge.where { $0.value > 1 }.select(\.id, \.cost))
    #expect(pairs.map { $0.0 } == ["a", "c"] && pairs[1].1 == 5)
    let triples = try rows(byValue.limit(1).select(\.place, \.source, \.key))
    #expect(triples.count == 1 && triples[0].0?.latitude == 78.2)
    #expect(triples[0].1?.id == "b" && triples[0].2 == "x")
    let whole = try rows(byValue.limit(1).select(\.id, \.value, \.cost, \.source, \.key))
    #expect(whole.map { $0.1 } == [3] && whole.map { $0.4 } == ["x"])
    let away = Coordinate(latitude: -10, longitude: 0)
    #expect(try rows(Gauge.all.nearest(to: away) { $0.place }.limit(2).select(\.id)) == ["a"])
  }

  @Test("A struct has the fields of its properties' names, decimals with every digit")
  func structs() throws {
    let lines = try rows(Gauge.all.select(\.id, \.value, \.cost, \.source, \.place, as: Line.self))
    let large = Decimal(sign: .plus, exponent: -10, significand: Decimal(123_456_789_012_345_678))
    #expect(
      lines == [
        Line(id: "a", value: 3, cost: large, source: "b", latitude: 78.2), Line(id: "b", value: 1),
        Line(id: "c", value: 2, cost: 5),
      ])
    #expect(try rows(Gauge.all.select(\.cost, as: Decimal?.self)) == [large, nil, 5])
  }

  @Test("Content that this app doesn't know shows what a fetch shows")
  func unknown() throws {
    try store.write { transaction in
      try transaction.insert(AnyRecord("Gauge", id: "d", ["value": 4, "cost": "12.5"]))
      try transaction.insert(Shelf("s", "", 0))
      try transaction.insert(Book("1", "a", pages: 1, shelf: "s"))
      try transaction.insert(Book("2", "b", pages: 2, shelf: "s"))
      _ = try transaction.update(RecordID(type: "Book", id: "1"), fields: ["kind": "globe"])
    }
    let costs: [Decimal?] = try rows(Gauge.where { $0.value > 3 }.select(\.cost))
    #expect(costs == [nil])
    #expect(try rows(Book.all.select(\.title)) == ["a", "b"])
    #expect(try rows(Book.all.select(\.kind, \.title)).map { $0.1 } == ["b"])
    #expect(try rows(Book.all.select(\.kind, as: String.self)) == ["novel"])
  }

  @Test("A selection that doesn't fit the type or the struct is refused")
  func mistakes() {
    struct Wrong: Decodable { var value: String }
    let unknown = Field<Int>("valeu")
    expect(.unknownField) { _ = try rows(Gauge.all.where { unknown > 1 && $0.value > 1 }.select(\.value)) }
    expect(.invalidQuery) { _ = try rows(Gauge.all.select(\.value, as: Line.self)) }
    expect(.invalidValue) { _ = try rows(Gauge.all.select(\.value, as: Wrong.self)) }
    expect(.invalidQuery) { _ = try rows(Gauge.all.select(as: Line.self)) }
    expect(.invalidQuery) { _ = try rows(Gauge.all.limit(-1).select(\.value)) }
  }

  @Test("Selections of other fields are other questions")
  func identity() {
    let all = Gauge.all
    #expect(all.select(\.key).plan.identity == all.select(\.key).plan.identity)
    #expect(all.select(\.key).plan.identity != all.select(\.value).plan.identity)
    #expect(all.select(\.key, \.value).plan.identity != all.select(\.value, \.key).plan.identity)
    #expect(all.select(\.key).plan.identity != all.distinct(\.key).plan.identity)
  }
}
