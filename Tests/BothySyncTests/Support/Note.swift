import BothyStore

/// The record of the tests: a text, a note, a count that merges, and one field for each of four devices.
struct Note: Entity, Equatable {
  static let schema = TypeSchema(
    "Note",
    fields: [
      .field("title", String.self), .field("note", String?.self),
      .field("score", Int.self, default: 0, merge: .counter), .field("a", Int?.self), .field("b", Int?.self),
      .field("c", Int?.self), .field("d", Int?.self),
    ])

  var id = UUIDv7.make()
  var title = ""
  var note: String?
  var score = 0
  var own: [Int?] = [nil, nil, nil, nil]
  var readMark = ReadMark()

  init(id: String = UUIDv7.make(), _ title: String, note: String? = nil) {
    self.id = id
    self.title = title
    self.note = note
  }

  func encode(to fields: inout FieldEncoder) {
    title.encodeField(to: &fields)
    note.encodeField(to: &fields)
    score.encodeField(to: &fields)
    for value in own { value.encodeField(to: &fields) }
  }

  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    title = try String(fromField: &fields)
    note = try String?(fromField: &fields)
    score = try Int(fromField: &fields)
    for index in own.indices { own[index] = try Int?(fromField: &fields) }
    readMark = fields.readMark
  }
}

extension StoreSchema {
  static let notes = StoreSchema(version: 1, Note.self)
}
