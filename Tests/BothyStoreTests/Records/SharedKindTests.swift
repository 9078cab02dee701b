import BothyStore
import Foundation
import Testing

/// Types that share the kind of another type: `Float`, `Int32` and `URL`.
@Suite(.timeLimit(.minutes(5))) struct SharedKindTests {
  private struct Item: Entity {
    static let schema = TypeSchema(
      "Item",
      fields: [
        .field("weight", Float.self, default: 1), .field("count", Int32.self, default: 0),
        .field("page", URL?.self),
      ])
    struct Fields: Sendable {
      let weight = Field<Float>("weight")
      let count = Field<Int32>("count")
      let page = Field<URL?>("page")
    }
    static let fields = Fields()

    var id: String
    var weight: Float = 1
    var count: Int32 = 0
    var page: URL?

    init(_ id: String, weight: Float = 1, count: Int32 = 0, page: URL? = nil) {
      self.id = id
      self.weight = weight
      self.count = count
      self.page = page
    }

    func encode(to fields: inout FieldEncoder) {
      weight.encodeField(to: &fields)
      count.encodeField(to: &fields)
      page.encodeField(to: &fields)
    }

    init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
      self.id = id
      weight = try Float(fromField: &fields)
      count = try Int32(fromField: &fields)
      page = try URL?(fromField: &fields)
    }
  }

  private let store: LocalStore

  init() throws { store = try LocalStore(inMemory: StoreSchema(Item.self)) }

  @Test("Values of the extremes are read as they were written, and found by conditions")
  func roundTrip() throws {
    let page = try #require(URL(string: "https://example.com/a%20b?c=d#e"))
    let items = [
      Item("a", weight: .greatestFiniteMagnitude, count: .min, page: page),
      Item("b", weight: .leastNonzeroMagnitude, count: .max), Item("c", weight: 0.1, count: -1),
    ]
    try store.write { transaction in for item in items { try transaction.insert(item) } }
    let found = try store.fetch(Item.all)
    #expect(found.map(\.weight) == items.map(\.weight))
    #expect(found.map(\.count) == items.map(\.count))
    #expect(found.map(\.page) == items.map(\.page))
    #expect(try store.fetch(Item.where { $0.weight == Float(0.1) }).map(\.id) == ["c"])
    #expect(try store.fetch(Item.where { $0.weight < Float(1) }.order(by: \.weight)).map(\.id) == ["b", "c"])
    #expect(try store.fetch(Item.where { $0.count >= Int32.max }).map(\.id) == ["b"])
    #expect(try store.fetch(Item.where { $0.page == page }).map(\.id) == ["a"])
  }

  @Test("A number beyond the type shows the default and stays, a sum throws")
  func ranges() throws {
    try store.write { transaction in
      try transaction.insert(AnyRecord("Item", id: "a", ["weight": 1e300, "count": 3_000_000_000]))
      try transaction.insert(Item("b", weight: 2, count: 5))
    }
    #expect(try store.fetch(Item.all).map(\.weight) == [1, 2])
    #expect(try store.fetch(Item.all).map(\.count) == [0, 5])
    try store.write {
      _ = try $0.update(RecordID(type: "Item", id: "a"), fields: ["page": "https://a.example"])
    }
    #expect(try store.record(RecordID(type: "Item", id: "a"))?["count"] == 3_000_000_000)
    #expect(try store.read { try $0.fetch(Item.where { $0.count < Int32(9) }.sum(\.count)) } == 5)
    expect(.invalidValue) { _ = try store.read { try $0.fetch(Item.all.sum(\.count)) } }
    expect(.invalidValue) { _ = try store.read { try $0.fetch(Item.all.sum(\.weight)) } }
    expect(.invalidValue) { try store.write { try $0.insert(Item("c", weight: .infinity)) } }
  }
}
