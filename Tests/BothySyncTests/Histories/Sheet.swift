import BothyStore

/// The record of wide histories: texts with four merge rules, a count, one text for each of four devices, and a file.
struct Sheet: Entity, Equatable {
  /// The texts, in the order of the schema; the last four belong to one device each.
  static let texts = ["title", "note", "pen", "late", "a", "b", "c", "d"]
  /// The fields that the judge follows: the texts, and the attached file by the checksum of its bytes.
  static let judged = texts + ["file"]

  static let schema = TypeSchema(
    "Sheet",
    fields: [
      .field("title", String.self), .field("note", String?.self),
      .field("pen", String?.self, merge: .local), .field("late", String?.self, merge: .latest),
      .field("a", String?.self), .field("b", String?.self), .field("c", String?.self),
      .field("d", String?.self), .field("score", Int.self, default: 0, merge: .counter),
      .field("file", Blob?.self),
    ])

  /// Returns the field that only the device with this number writes.
  static func own(_ device: Int) -> String { texts[4 + device % 4] }

  static func record(_ id: String) -> RecordID { RecordID(type: typeName, id: id) }

  var id: String
  var values: [String: String] = [:]
  var score = 0
  var file: Blob?

  init(id: String) { self.id = id }

  func encode(to fields: inout FieldEncoder) {
    (values["title"] ?? "").encodeField(to: &fields)
    for name in Self.texts.dropFirst() { values[name].encodeField(to: &fields) }
    score.encodeField(to: &fields)
    file.encodeField(to: &fields)
  }

  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    values["title"] = try String(fromField: &fields)
    for name in Self.texts.dropFirst() { values[name] = try String?(fromField: &fields) }
    score = try Int(fromField: &fields)
    file = try Blob?(fromField: &fields)
  }
}

extension JSONValue {
  /// The value of a field as the judge follows it: its text, or the checksum of its file.
  var judged: String? { stringValue ?? Blob(self)?.sha256 }
}

extension StoreSchema {
  static let sheets = StoreSchema(version: 1, Sheet.self)
}
