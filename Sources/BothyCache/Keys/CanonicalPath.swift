/// The canonical form of paths and queries in keys.
///
/// Only spellings that are equal by RFC 3986 §6.2 are joined: percent-encoding and dot segments. An empty segment names
/// another resource and stays. The functions never fail. Their result has no dot segment, control character or
/// backslash, so it names one resource and can't point out of a folder.
enum CanonicalPath {
  /// Splits `path?query#fragment` into path and query. The fragment is dropped.
  static func split(_ text: some StringProtocol) -> (path: Substring, query: Substring?) {
    let text = Substring(text)
    let end = text.firstIndex(of: "#") ?? text.endIndex
    let whole = text[..<end]
    guard let mark = whole.firstIndex(of: "?") else { return (whole, nil) }
    return (whole[..<mark], whole[whole.index(after: mark)...])
  }

  /// Returns the path without its first slash. `..` never leads above the top.
  ///
  /// Doubled and trailing slashes stay, because they name other resources.
  static func path(_ text: some StringProtocol) -> String {
    let encoded = encoded(text, keeping: pathCharacters)
    var segments: [Substring] = []
    let whole = encoded.hasPrefix("/") ? encoded.dropFirst() : encoded[...]
    let parts = whole.split(separator: "/", omittingEmptySubsequences: false)
    for (index, part) in parts.enumerated() {
      let isLast = index == parts.count - 1
      switch part {
      case ".": if isLast, !segments.isEmpty { segments.append("") }
      case "..":
        _ = segments.popLast()
        if isLast, !segments.isEmpty { segments.append("") }
      default: segments.append(part)
      }
    }
    return segments.joined(separator: "/")
  }

  /// Returns the query without the ignored items, or `nil` if nothing is left. Order and empty items stay.
  static func query(_ text: some StringProtocol, ignoring names: Set<String>) -> String? {
    let kept = text.split(separator: "&", omittingEmptySubsequences: false).filter { item in
      let name = item.prefix { $0 != "=" }
      return item.isEmpty || !names.contains(String(name)) && !names.contains(decoded(name))
    }
    let query = kept.joined(separator: "&")
    return query.isEmpty ? nil : encoded(query, keeping: queryCharacters)
  }

  static let unreserved = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~".utf8)
  static let pathCharacters = unreserved.union("!$&'()*+,;=:@/".utf8)
  static let queryCharacters = pathCharacters.union("?".utf8)

  /// Percent-encodes the characters that need it, in capital digits, and decodes those that do not.
  static func encoded(_ text: some StringProtocol, keeping allowed: Set<UInt8>) -> String {
    let bytes = Array(text.utf8)
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var index = 0
    while index < bytes.count {
      var byte = bytes[index]
      var wasEncoded = false
      if byte == 37, index + 2 < bytes.count, let high = hex(bytes[index + 1]),
        let low = hex(bytes[index + 2])
      {
        byte = high << 4 | low
        wasEncoded = true
        index += 2
      }
      index += 1
      if wasEncoded ? unreserved.contains(byte) : allowed.contains(byte) {
        result.append(byte)
      } else {
        result += [37, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  private static func decoded(_ text: some StringProtocol) -> String {
    let bytes = Array(text.utf8)
    var result: [UInt8] = []
    var index = 0
    while index < bytes.count {
      if bytes[index] == 37, index + 2 < bytes.count, let high = hex(bytes[index + 1]),
        let low = hex(bytes[index + 2])
      {
        result.append(high << 4 | low)
        index += 3
      } else {
        result.append(bytes[index])
        index += 1
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  private static let digits = Array("0123456789ABCDEF".utf8)

  private static func hex(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 48...57: byte - 48
    case 65...70: byte - 55
    case 97...102: byte - 87
    default: nil
    }
  }
}
