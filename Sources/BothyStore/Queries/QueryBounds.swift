/// Ranges that hold every answer, so that an index can serve a condition.
extension String {
  /// The first text after all that begin with this one: its last scalar raised by one, those that are the last
  /// scalar of all dropped before. Nil when there is none. UTF-8 sorts as scalars do.
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

  /// ASCII capitals made small, all else kept: what SQLite's `lower` does.
  var asciiLowercased: String {
    String(decoding: utf8.map { 0x41...0x5A ~= $0 ? $0 + 32 : $0 }, as: UTF8.self)
  }
}

extension [FieldValue] {
  /// The values as one JSON array, when they are all text or whole numbers.
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
