import BothyStore
import Testing

/// Numbers that JSON can't write, and so no server can keep.
@Suite(.timeLimit(.minutes(5))) struct FiniteNumberTests {
  private struct Price: Entity {
    static let schema = TypeSchema(
      "Price",
      fields: [.field("name", String.self), .field("amount", Double.self), .field("rate", Double?.self)])
    var id: String
    var amount: Double
    var rate: Double?

    init(_ id: String, _ amount: Double, rate: Double? = nil) {
      self.id = id
      self.amount = amount
      self.rate = rate
    }

    func encode(to fields: inout FieldEncoder) {
      "p".encodeField(to: &fields)
      amount.encodeField(to: &fields)
      rate.encodeField(to: &fields)
    }

    init(id: String, from fields: inout FieldDecoder) throws(StoreError) {
      self.id = id
      _ = try String(fromField: &fields)
      amount = try Double(fromField: &fields)
      rate = try Double?(fromField: &fields)
    }
  }

  static let numbers: [Double] = [.nan, .signalingNaN, .infinity, -.infinity]

  @Test("a number that is not finite is refused at the write, with its field named", arguments: numbers)
  func refused(number: Double) throws {
    let store = try Store(inMemory: Schema(Price.self))
    try store.write { try $0.insert(Price("a", 1)) }
    for write in [
      { try $0.insert(Price("b", number)) }, { try $0.insert(Price("b", 1, rate: number)) },
      { try $0.update(Price("a", number)) }, { try $0.save(Price("a", 1, rate: number)) },
      { try $0.insert(Record("Price", id: "b", ["name": "p", "amount": .double(number)])) },
      { _ = try $0.update(RecordID(type: "Price", id: "a"), fields: ["rate": .double(number)]) },
    ] as [(WriteTransaction) throws -> Void] {
      let error = #expect(throws: StoreError.self) { try store.write(write) }
      #expect(error?.code == .invalidValue)
      #expect(error?.message.contains("Price.") == true, "\(error?.message ?? "")")
    }
    #expect(try store.fetch(Query<Price>()).map(\.amount) == [1])
  }

  @Test("a query that compares with a number that is not finite is refused", arguments: numbers)
  func compared(number: Double) throws {
    let store = try Store(inMemory: Schema(Price.self))
    expect(.invalidQuery) {
      _ = try store.count(RecordQuery("Price", where: .compare(field: "amount", .less, .double(number))))
    }
    expect(.invalidQuery) {
      _ = try store.count(RecordQuery("Price", where: .oneOf(field: "amount", [.double(number)])))
    }
  }

  @Test("a schema with a default that is not finite is refused")
  func declared() throws {
    let type = TypeSchema("Price", fields: [FieldSchema("amount", .double, default: .double(.infinity))])
    expect(.invalidSchema) { _ = try Store(inMemory: Schema(types: [type])) }
  }
}
