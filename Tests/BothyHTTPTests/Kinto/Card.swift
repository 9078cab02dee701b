import BothyKinto
import BothyStore

/// The record of the tests against Kinto: a text, a count that merges, and one field for each of three devices.
struct Card: Entity, Equatable {
  static let schema = TypeSchema(
    "Card",
    fields: [
      .field("title", String.self), .field("score", Int.self, default: 0, merge: .counter),
      .field("a", Int?.self), .field("b", Int?.self), .field("c", Int?.self),
    ])

  var id = UUIDv7.make()
  var title = ""
  var score = 0
  var own: [Int?] = [nil, nil, nil]

  init(id: String = UUIDv7.make(), _ title: String) {
    self.id = id
    self.title = title
  }

  func encode(to fields: inout FieldEncoder) {
    title.encodeField(to: &fields)
    score.encodeField(to: &fields)
    for value in own { value.encodeField(to: &fields) }
  }

  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    title = try String(fromField: &fields)
    score = try Int(fromField: &fields)
    for index in own.indices { own[index] = try Int?(fromField: &fields) }
  }
}
