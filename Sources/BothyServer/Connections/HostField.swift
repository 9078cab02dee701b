import NIOHTTP1

/// The form of a `Host` field's value (RFC 9112, 3.2 and RFC 3986, 3.2.2).
enum HostField {
  /// True if a request names one valid host. Only HTTP/1.1 requires that it names one.
  static func areValid(_ hosts: [some StringProtocol], _ version: HTTPVersion) -> Bool {
    guard hosts.count == 1 || hosts.isEmpty && version != .http1_1 else { return false }
    return hosts.allSatisfy { isValid($0) }
  }

  /// True if a text is a host, an address in brackets or nothing, with or without a port. Costs a look at each byte.
  static func isValid(_ value: some StringProtocol) -> Bool {
    var rest = Substring(value).utf8[...]
    if rest.first == UInt8(ascii: "[") {
      guard let end = rest.firstIndex(of: UInt8(ascii: "]")) else { return false }
      guard isLiteral(rest[..<end].dropFirst()) else { return false }
      rest = rest[end...].dropFirst()
    } else {
      let name = rest.prefix { $0 != UInt8(ascii: ":") }
      guard isName(name) else { return false }
      rest = rest[name.endIndex...]
    }
    guard let colon = rest.first else { return true }
    return colon == UInt8(ascii: ":") && rest.dropFirst().allSatisfy(isDigit)
  }

  /// True for what may be between brackets: an address of IPv6, or one of a later version.
  private static func isLiteral(_ bytes: Substring.UTF8View.SubSequence) -> Bool {
    !bytes.isEmpty && bytes.allSatisfy { isPlain($0) || $0 == UInt8(ascii: ":") }
  }

  /// True for a name of plain characters and of bytes that are encoded with a per cent sign.
  private static func isName(_ bytes: Substring.UTF8View.SubSequence) -> Bool {
    var rest = bytes
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%") {
        let code = rest.prefix(2)
        guard code.count == 2, code.allSatisfy(isHexadecimal) else { return false }
        rest = rest.dropFirst(2)
      } else if !isPlain(byte) {
        return false
      }
    }
    return true
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || marks.contains(byte)
  }

  /// The marks of unreserved characters and the delimiters within names.
  private static let marks = Set("-._~!$&'()*+,;=".utf8)
}
