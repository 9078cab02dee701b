import BothySync

extension FieldsDocument {
  /// Its JSON, for messages.
  var text: String { String(decoding: bytes, as: UTF8.self) }
}
