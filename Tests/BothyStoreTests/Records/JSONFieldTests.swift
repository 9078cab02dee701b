import BothyStore
import BothyTestSupport
import Foundation
import Testing

/// Values that `Codable` writes and the store can't keep.
@Suite("Fields of JSON", .timeLimit(.minutes(5))) struct JSONFieldTests {
  /// Levels of arrays, and a number.
  private struct Shape: JSONField, Equatable {
    var levels = 1
    var number = 1.0

    init(levels: Int = 1, number: Double = 1) { (self.levels, self.number) = (levels, number) }

    init(from decoder: any Decoder) throws {
      var values = try decoder.unkeyedContainer()
      (levels, number) = (1, try values.decode(Double.self))
    }

    func encode(to encoder: any Encoder) throws {
      var values = encoder.unkeyedContainer()
      try values.encode(number)
      if levels > 1 { try values.encode(Shape(levels: levels - 1)) }
    }
  }

  private struct Hut: Entity {
    static let schema = TypeSchema("Hut", fields: [.field("shape", Shape?.self)])
    var id: String
    var shape: Shape?

    init(_ id: String, _ shape: Shape?) { (self.id, self.shape) = (id, shape) }

    func encode(to fields: inout FieldEncoder) { shape.encodeField(to: &fields) }

    init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
      self.id = id
      shape = try Shape?(fromField: &fields)
    }
  }

  @Test("A value that is nested too deep or has no JSON is refused")
  func refused() throws {
    let store = try LocalStore(inMemory: StoreSchema(Hut.self))
    try store.write { try $0.insert(Hut("a", Shape(levels: 3, number: 2))) }
    for shape in [Shape(levels: 40), Shape(levels: 70), Shape(number: .nan), Shape(number: .infinity)] {
      let error = #expect(throws: BothyError.self) { try store.write { try $0.insert(Hut("b", shape)) } }
      #expect(error?.code == .invalidValue && error?.message.contains("Hut.shape") == true)
      expect(.invalidValue) { try store.write { try $0.update(Hut("a", shape)) } }
    }
    #expect(try store.fetch(RecordQuery<Hut>()).map(\.shape?.number) == [2])
  }
}
