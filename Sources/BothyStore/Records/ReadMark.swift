internal import Foundation

/// The state of a record that a value refers to: the state that was read, or that at the value's creation.
///
/// A save compares by it and preserves fields that others changed since and the caller didn't. `@Entity` adds the
/// property `readMark`. An entity written by hand declares `var readMark = ReadMark()` and sets it in `init(id:from:)`
/// to `fields.readMark`.
///
/// A mark adds no content: all marks are equal, and add nothing to a hash. As JSON it is one whole number, so that a
/// value that the app stores over a relaunch still refers to the state that was read. Eight bytes.
public struct ReadMark: Sendable {
  /// A version from 0 on, where 0 is a record that the server had not acknowledged. Below 0 it is a time in negative
  /// nanoseconds since 1970; changes up to that time don't count.
  package let number: Int64

  /// The mark before any read.
  static let first = ReadMark(number: 0)

  /// Creates the mark of a value that is created now rather than read.
  public init() { number = -Self.now() }

  init(number: Int64) { self.number = number }

  /// Creates the mark of a value that was read with its version.
  package init(version: String?) { number = Self.number(of: version) }

  /// The mark of a value of which a save writes every field. Set a value's `readMark` to it to restore an old value
  /// over later changes of others.
  public static var whole: ReadMark { ReadMark(number: .min) }

  static func now() -> Int64 { Int64(clamping: Int(Date().timeIntervalSince1970 * 1_000_000) &* 1000) }

  /// Returns the number at the end of a version's text. Returns 0 without a number, or for a negative one. Ignores text
  /// before the number.
  static func number(of version: String?) -> Int64 {
    guard let version, version.utf8.first != UInt8(ascii: "-") else { return 0 }
    var number: Int64 = 0
    var factor: Int64 = 1
    for byte in version.utf8.reversed() {
      guard let digit = Int64(exactly: Int(byte) - 48), (0...9).contains(digit), factor > 0 else { break }
      number =
        number.addingReportingOverflow(digit.multipliedReportingOverflow(by: factor).partialValue)
        .partialValue
      factor = factor.multipliedReportingOverflow(by: 10).overflow ? 0 : factor * 10
    }
    return max(0, number)
  }
}

extension ReadMark: Hashable {
  /// Returns true, because two values with equal content are equal, whenever they were read.
  public static func == (left: ReadMark, right: ReadMark) -> Bool { true }

  public func hash(into hasher: inout Hasher) {}
}

extension ReadMark: Codable {
  public init(from decoder: any Decoder) throws {
    number = try decoder.singleValueContainer().decode(Int64.self)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(number)
  }
}

extension KeyedDecodingContainer {
  /// Decodes the mark of a value that the app stored. A value stored without a mark counts as created now.
  public func decode(_ type: ReadMark.Type, forKey key: Key) throws -> ReadMark {
    try decodeIfPresent(type, forKey: key) ?? ReadMark()
  }
}
