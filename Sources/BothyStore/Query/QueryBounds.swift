/// Ranges that contain every result, so that an index can serve a condition.
extension String {
  /// The first text after all texts that begin with this one, or nil. Raises the last scalar by one, after dropping
  /// those that are the greatest scalar. UTF-8 sorts like scalars.
  var nextOfSameLength: String? {
    var scalars = Array(unicodeScalars)
    while let last = scalars.popLast() {
      let next = last.value == 0xD7FF ? 0xE000 : last.value + 1
      guard let scalar = Unicode.Scalar(next) else { continue }
      var text = String.UnicodeScalarView(scalars)
      text.append(scalar)
      return String(text)
    }
    return nil
  }

  /// The text with ASCII capitals as lower case and all else unchanged, like SQLite's `lower`.
  var asciiLowercased: String {
    String(decoding: utf8.map { 0x41...0x5A ~= $0 ? $0 + 32 : $0 }, as: UTF8.self)
  }
}

extension [FieldValue] {
  /// The values as one JSON array, or nil unless all are text or whole numbers.
  var jsonList: String? {
    var writer = JSONWriter()
    writer.beginArray()
    for value in self {
      switch value {
      case .text(let text) where !text.utf8.contains(0): writer.value(text)
      case .int(let number), .date(let number): writer.value(number)
      default: return nil
      }
    }
    writer.endArray()
    return writer.string
  }
}
