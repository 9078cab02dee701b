import BothyStore
import BothySync
import BothyTesting
import Testing

/// The record of the tests.
struct Item: Entity, Equatable {
  static let schema = TypeSchema("Item", fields: [.field("name", String.self), .field("size", Int.self)])

  var id: String
  var name: String
  var size = 0

  init(_ id: String, _ name: String) { (self.id, self.name) = (id, name) }

  func encode(to fields: inout FieldEncoder) {
    name.encodeField(to: &fields)
    size.encodeField(to: &fields)
  }

  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    name = try String(fromField: &fields)
    size = try Int(fromField: &fields)
  }

  struct Fields: Sendable {
    let name = Field<String>("name")
    let size = Field<Int>("size")
  }

  static let fields = Fields()

  static func named(_ name: String) -> RecordQuery<Item> { Item.where { $0.name == name } }
}
