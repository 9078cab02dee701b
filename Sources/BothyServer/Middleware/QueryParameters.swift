import BothySyncService
import Foundation

/// The query of a URL, decoded once. The first value of a repeated name counts.
struct QueryParameters: Sendable {
  private var values: [String: String] = [:]

  init() {}

  /// Parses `a=1&b=2`, with a plus sign for a space, as in forms. Throws `HTTPFailure` for a broken escape.
  init(_ text: Substring) throws {
    for item in text.split(separator: "&") {
      let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let decoded = try parts.map { try $0.replacing("+", with: " ")[...].percentDecoded() }
      guard let name = decoded.first, values[name] == nil else { continue }
      values[name] = decoded.count > 1 ? decoded[1] : ""
    }
  }

  subscript(_ name: String) -> String? { values[name] }

  /// Returns the value of `true` or `false`, or false if the parameter is missing.
  func flag(_ name: String) throws -> Bool {
    switch values[name] {
    case nil, "false": return false
    case "true": return true
    default: throw HTTPFailure.badRequest("The parameter '\(name)' is true or false.")
    }
  }

  /// Returns a whole number above zero, or `nil` if the parameter is missing.
  func positive(_ name: String) throws -> Int? {
    guard let text = values[name] else { return nil }
    guard let number = Int(text), number > 0 else {
      throw HTTPFailure.badRequest("The parameter '\(name)' is a whole number above 0.")
    }
    return number
  }

  /// Returns the scope of the parameters `container` and `children`, or the whole space if they name no container.
  func scope() throws -> SyncScope {
    let children = try flag("children")
    guard let container = values["container"] else { return .everything }
    return SyncScope(container: container, includesChildren: children)
  }
}

extension Substring {
  /// Undoes percent-encoding once. Throws `HTTPFailure` for an invalid escape, for bytes that aren't UTF-8, and for a
  /// zero byte, which names can't have.
  func percentDecoded() throws -> String {
    guard utf8.contains(UInt8(ascii: "%")) else { return String(self) }
    guard let text = withoutEscapes else {
      throw HTTPFailure.badRequest("The address has a percent sign that begins no UTF-8 character.")
    }
    guard !text.utf8.contains(0) else {
      throw HTTPFailure.badRequest("The address has a zero byte, which no name may hold.")
    }
    return text
  }

  /// Decodes byte by byte. Foundation drops a byte order mark at the beginning, which makes it another address.
  private var withoutEscapes: String? {
    var bytes: [UInt8] = []
    var rest = utf8[...]
    func digit() -> UInt8? {
      rest.popFirst().flatMap { Character(UnicodeScalar($0)).hexDigitValue }.map {
        UInt8(truncatingIfNeeded: $0)
      }
    }
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = digit(), let low = digit() else { return nil }
      bytes.append(high &<< 4 | low)
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
