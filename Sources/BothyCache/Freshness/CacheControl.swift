package import HTTPTypes

/// The directives of `Cache-Control` (RFC 9111 §5.2, RFC 5861, RFC 8246).
///
/// Those for shared caches alone (`s-maxage`, `proxy-revalidate`) count under a rule of a shared cache. The field lists
/// of `no-cache` and `private` are ignored, but not the directives. A number may be quoted. An invalid number counts as
/// zero, and the smallest of several numbers wins, so that garbled fields make a response stale and not fresh for ever.
package struct CacheControl: Sendable, Hashable {
  package var noStore = false
  package var noCache = false
  package var mustRevalidate = false
  package var proxyRevalidate = false
  package var mustUnderstand = false
  package var isPublic = false
  package var isPrivate = false
  package var isImmutable = false
  package var onlyIfCached = false
  /// The number of seconds, like all numbers here, or `nil` without the directive.
  package var maxAge: Int64?
  /// `s-maxage`, the lifetime in shared caches.
  package var sharedMaxAge: Int64?
  package var staleWhileRevalidate: Int64?
  package var staleIfError: Int64?
  package var minFresh: Int64?
  /// The number of seconds, or `Int64.max` for a directive without a number, which accepts any staleness.
  package var maxStale: Int64?

  /// The largest number of seconds. Larger numbers are reduced to it (RFC 9111 §1.2.2).
  package static let longest: Int64 = 1 << 31

  package init() {}

  package init(_ fields: HTTPFields) {
    for line in fields[values: .cacheControl] { read(line) }
  }

  private mutating func read(_ line: String) {
    for directive in ListReader.members(of: line) {
      let (name, value) = Self.split(directive)
      switch name {
      case "no-store": noStore = true
      case "no-cache": noCache = true
      case "must-revalidate": mustRevalidate = true
      case "proxy-revalidate": proxyRevalidate = true
      case "must-understand": mustUnderstand = true
      case "public": isPublic = true
      case "private": isPrivate = true
      case "immutable": isImmutable = true
      case "only-if-cached": onlyIfCached = true
      case "max-age": maxAge = Self.smaller(maxAge, Self.seconds(value) ?? 0)
      case "s-maxage": sharedMaxAge = Self.smaller(sharedMaxAge, Self.seconds(value) ?? 0)
      case "stale-while-revalidate":
        staleWhileRevalidate = Self.smaller(staleWhileRevalidate, Self.seconds(value) ?? 0)
      case "stale-if-error": staleIfError = Self.smaller(staleIfError, Self.seconds(value) ?? 0)
      case "min-fresh": minFresh = max(minFresh ?? 0, Self.seconds(value) ?? Self.longest)
      case "max-stale": maxStale = Self.smaller(maxStale, value == nil ? .max : Self.seconds(value) ?? 0)
      default: break
      }
    }
  }

  private static func smaller(_ known: Int64?, _ new: Int64) -> Int64 { min(known ?? .max, new) }

  /// Returns the name in lower case, and the text after the first `=`, or `nil` without one.
  ///
  /// Spaces around the `=` stay with the value, which then isn't a number.
  private static func split(_ directive: Substring) -> (name: String, value: Substring?) {
    guard let equals = directive.utf8.firstIndex(of: UInt8(ascii: "=")) else {
      return (directive.lowercased(), nil)
    }
    let name = directive[..<equals]
    let trimmed = ListReader.trimmed(name)
    let value = directive[directive.utf8.index(after: equals)...]
    return (trimmed.lowercased(), trimmed.utf8.count == name.utf8.count ? value : "")
  }

  /// Parses a number of seconds, which may be in double quotes. Larger numbers become `longest`.
  package static func seconds(_ text: Substring?) -> Int64? {
    guard var digits = text?.utf8[...] else { return nil }
    if digits.count >= 2, digits.first == UInt8(ascii: "\""), digits.last == UInt8(ascii: "\"") {
      digits = digits.dropFirst().dropLast()
    }
    guard !digits.isEmpty else { return nil }
    var value: Int64 = 0
    for byte in digits {
      guard byte >= 0x30, byte <= 0x39 else { return nil }
      value = min(longest, value * 10 + Int64(byte - 0x30))
    }
    return value
  }
}

/// Splits a comma-separated field into its members (RFC 9110 §5.6.1). Commas in quoted strings do not separate.
package enum ListReader {
  /// Returns the members without the white space around them and without empty ones. An open quote extends to the end.
  package static func members(of line: String) -> [Substring] {
    var members: [Substring] = []
    var start = line.utf8.startIndex
    var isQuoted = false
    var isEscaped = false
    func add(_ end: String.Index) {
      let member = trimmed(line[start..<end])
      if !member.isEmpty { members.append(member) }
    }
    for index in line.utf8.indices {
      let byte = line.utf8[index]
      if isEscaped {
        isEscaped = false
      } else if isQuoted, byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        isQuoted.toggle()
      } else if !isQuoted, byte == UInt8(ascii: ",") {
        add(index)
        start = line.utf8.index(after: index)
      }
    }
    add(line.utf8.endIndex)
    return members
  }

  /// Returns the text without spaces and tabs at either end.
  package static func trimmed(_ text: Substring) -> Substring {
    func isSpace(_ byte: UInt8?) -> Bool { byte == 0x20 || byte == 0x09 }
    var bytes = text.utf8[...]
    while isSpace(bytes.first) { bytes = bytes.dropFirst() }
    while isSpace(bytes.last) { bytes = bytes.dropLast() }
    return Substring(bytes)
  }
}
