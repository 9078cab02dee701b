/// The text form of sort keys: `-due,title`, `title NATURAL` and `start NEAREST 51.5,-0.1`.
extension SortKey {
  package var description: String {
    guard let origin else { return (ascending ? "" : "-") + field + (isNatural ? " NATURAL" : "") }
    return "\(field) \(ascending ? "NEAREST" : "FARTHEST") \(origin.latitude),\(origin.longitude)"
  }

  /// Reads `-due,title`: fields separated by commas, with `-` before those sorted from the largest. A field of text may
  /// have `NATURAL` behind it. Also reads `start NEAREST 51.5,-0.1` or `FARTHEST`, by the distance from latitude and
  /// longitude. Empty text has no keys. Throws `WhereSyntaxError` with the position of an invalid key.
  package static func parse(_ text: String) throws(WhereSyntaxError) -> [SortKey] {
    if text.allSatisfy(\.isWhitespace) { return [] }
    var parts = text.split(separator: ",", omittingEmptySubsequences: false)[...]
    var keys: [SortKey] = []
    var column = 1
    while let part = parts.popFirst() {
      let start = column + part.prefix(while: \.isWhitespace).count
      column += part.count + 1
      if let key = SortKey(key: part.drop(while: \.isWhitespace)) {
        keys.append(key)
        continue
      }
      let words = part.split(whereSeparator: \.isWhitespace)
      if words.count == 2, words[1].uppercased() == "NATURAL", var key = SortKey(key: words[0]) {
        key.isNatural = true
        keys.append(key)
        continue
      }
      guard words.count == 3, let longitude = parts.popFirst(),
        let key = SortKey(field: words[0], word: words[1], latitude: words[2], longitude: longitude)
      else {
        throw WhereSyntaxError(
          message:
            "A field is missing here. Write fields separated by commas: -due,title,start NEAREST 51.5,-0.1.",
          column: start, text: text)
      }
      keys.append(key)
      column += longitude.count + 1
    }
    return keys
  }

  init?(key: some StringProtocol) {
    var name = String(key)
    while name.last?.isWhitespace == true { name.removeLast() }
    let ascending = !name.hasPrefix("-")
    if !ascending || name.hasPrefix("+") { name.removeFirst() }
    guard !name.isEmpty, name.allSatisfy(\.isPartOfName) else { return nil }
    self.init(name, ascending: ascending)
  }

  private init?(field: Substring, word: Substring, latitude: Substring, longitude: Substring) {
    let words = longitude.split(whereSeparator: \.isWhitespace)
    guard field.allSatisfy(\.isPartOfName), ["NEAREST", "FARTHEST"].contains(word.uppercased()),
      let latitude = Double(latitude), words.count == 1, let longitude = Double(words[0])
    else { return nil }
    self.init(
      String(field), distanceFrom: Coordinate(latitude: latitude, longitude: longitude),
      ascending: word.uppercased() == "NEAREST")
  }
}

extension Character {
  fileprivate var isPartOfName: Bool { isLetter || isNumber || self == "_" }
}
