import BothyStore
import Foundation
import Testing

/// Numbers that JSON can't represent and no server can store.
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

    init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
      self.id = id
      _ = try String(fromField: &fields)
      amount = try Double(fromField: &fields)
      rate = try Double?(fromField: &fields)
    }
  }

  static let numbers: [Double] = [.nan, .signalingNaN, .infinity, -.infinity]

  @Test("A write of a number that isn't finite is refused and names the field", arguments: numbers)
  func refused(number: Double) throws {
    let store = try LocalStore(inMemory: StoreSchema(Price.self))
    try store.write { try $0.insert(Price("a", 1)) }
    for write in [
      { try $0.insert(Price("b", number)) }, { try $0.insert(Price("b", 1, rate: number)) },
      { try $0.update(Price("a", number)) }, { try $0.save(Price("a", 1, rate: number)) },
      { try $0.insert(AnyRecord("Price", id: "b", ["name": "p", "amount": .double(number)])) },
      { _ = try $0.update(RecordID(type: "Price", id: "a"), fields: ["rate": .double(number)]) },
    ] as [(WriteTransaction) throws -> Void] {
      let error = #expect(throws: BothyError.self) { try store.write(write) }
      #expect(error?.code == .invalidValue)
      #expect(error?.message.contains("Price.") == true, "\(error?.message ?? "")")
    }
    #expect(try store.fetch(RecordQuery<Price>()).map(\.amount) == [1])
  }

  private struct Visit: Entity {
    static let schema = TypeSchema("Visit", fields: [.field("at", Date.self), .field("left", Date?.self)])
    var id: String
    var at = Date(timeIntervalSince1970: 1)
    var left: Date?

    func encode(to fields: inout FieldEncoder) {
      at.encodeField(to: &fields)
      left.encodeField(to: &fields)
    }

    init(id: String, at: Double = 1, left: Double? = nil) {
      self.id = id
      self.at = Date(timeIntervalSince1970: at)
      self.left = left.map { Date(timeIntervalSince1970: $0) }
    }

    init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
      self.id = id
      at = try Date(fromField: &fields)
      left = try Date?(fromField: &fields)
    }
  }

  @Test("A write of a date beyond all milliseconds is refused", arguments: numbers + [1e300])
  func dates(seconds: Double) throws {
    let store = try LocalStore(inMemory: StoreSchema(Visit.self))
    try store.write { try $0.insert(Visit(id: "a", left: 2)) }
    for visit in [Visit(id: "b", at: seconds), Visit(id: "b", left: seconds)] {
      let error = #expect(throws: BothyError.self) { try store.write { try $0.insert(visit) } }
      #expect(error?.code == .invalidValue)
      #expect(error?.message.contains("Visit.") == true, "\(error?.message ?? "")")
    }
    #expect(throws: BothyError.self) { try store.write { try $0.save(Visit(id: "a", at: seconds)) } }
    #expect(try store.fetch(RecordQuery<Visit>()).map(\.left) == [Date(timeIntervalSince1970: 2)])
  }

  @Test("A query that compares with a number that isn't finite is refused", arguments: numbers)
  func compared(number: Double) throws {
    let store = try LocalStore(inMemory: StoreSchema(Price.self))
    expect(.invalidQuery) {
      _ = try store.count(AnyQuery("Price", where: .compare(field: "amount", .less, .double(number))))
    }
    expect(.invalidQuery) {
      _ = try store.count(AnyQuery("Price", where: .oneOf(field: "amount", [.double(number)])))
    }
  }

  @Test("A schema with a default that isn't finite is refused")
  func declared() throws {
    let type = TypeSchema("Price", fields: [FieldSchema("amount", .double, default: .double(.infinity))])
    expect(.invalidSchema) { _ = try LocalStore(inMemory: StoreSchema(types: [type])) }
  }
}
