import BothySyncService
import Foundation

/// The query of a URL, decoded once; of a repeated name the first value counts.
struct QueryParameters: Sendable {
  private var values: [String: String] = [:]

  init() {}

  /// Reads `a=1&b=2`; a plus sign is a space, as in forms. Throws `ServerProblem` for a broken escape.
  init(_ text: Substring) throws {
    for item in text.split(separator: "&") {
      let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let decoded = try parts.map { try $0.replacing("+", with: " ")[...].percentDecoded() }
      guard let name = decoded.first, values[name] == nil else { continue }
      values[name] = decoded.count > 1 ? decoded[1] : ""
    }
  }

  subscript(_ name: String) -> String? { values[name] }

  /// `true` or `false`; false when it is not given.
  func flag(_ name: String) throws -> Bool {
    switch values[name] {
    case nil, "false": return false
    case "true": return true
    default: throw ServerProblem.badRequest("The parameter '\(name)' is true or false.")
    }
  }

  /// A whole number above zero.
  func positive(_ name: String) throws -> Int? {
    guard let text = values[name] else { return nil }
    guard let number = Int(text), number > 0 else {
      throw ServerProblem.badRequest("The parameter '\(name)' is a whole number above 0.")
    }
    return number
  }

  /// The parameters `container` and `children`; the whole space when there is no container.
  func scope() throws -> PullScope {
    let children = try flag("children")
    guard let container = values["container"] else { return .space }
    return PullScope(container: container, includesChildren: children)
  }
}

extension Substring {
  /// Undoes percent-encoding once. Throws `ServerProblem` for an escape that is none or is not UTF-8, and for
  /// a zero byte, which no name holds.
  func percentDecoded() throws -> String {
    guard utf8.contains(UInt8(ascii: "%")) else { return String(self) }
    guard let text = withoutEscapes else {
      throw ServerProblem.badRequest("The address has a percent sign that begins no UTF-8 character.")
    }
    guard !text.utf8.contains(0) else {
      throw ServerProblem.badRequest("The address has a zero byte, which no name may hold.")
    }
    return text
  }

  /// Byte by byte: Foundation leaves out a mark of byte order at the beginning, and the address would be another's.
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
