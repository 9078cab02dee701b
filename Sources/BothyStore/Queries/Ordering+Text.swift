/// The text form of sort keys: `-due,title`.
extension Ordering: CustomStringConvertible {
  public var description: String { (ascending ? "" : "-") + field }

  /// Reads `-due,title`: fields separated by commas, `-` before those sorted from the largest.
  /// Empty text is no keys. Throws `WhereSyntaxError` pointing at the key that is none.
  public static func parse(_ text: String) throws(WhereSyntaxError) -> [Ordering] {
    if text.allSatisfy(\.isWhitespace) { return [] }
    var keys: [Ordering] = []
    var column = 1
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let name = part.drop(while: \.isWhitespace)
      let start = column + part.count - name.count
      guard let key = Ordering(key: name) else {
        throw WhereSyntaxError(
          message: "A field is missing here. Write fields separated by commas: -due,title.", column: start,
          text: text)
      }
      keys.append(key)
      column += part.count + 1
    }
    return keys
  }

  init?(key: some StringProtocol) {
    var name = String(key)
    while name.last?.isWhitespace == true { name.removeLast() }
    let ascending = !name.hasPrefix("-")
    if !ascending || name.hasPrefix("+") { name.removeFirst() }
    guard !name.isEmpty, name.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" }) else { return nil }
    self.init(name, ascending: ascending)
  }
}
