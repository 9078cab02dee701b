internal import Foundation

/// Says which state of its record a value is about: as it was read, or when the value was made.
///
/// A save compares by it: what others have changed since, and the caller has not, is left as it is. `@Entity` adds the
/// property `readMark`; an entity written by hand declares `var readMark = ReadMark()` and sets it in
/// `init(id:from:)` to `fields.readMark`.
///
/// A mark adds no content: all marks are equal, and add nothing to a hash. As JSON it is one whole number, so that a value
/// that the app keeps over a relaunch is still about what was read. Eight bytes.
public struct ReadMark: Sendable {
  /// A version from 0 on, where 0 is a record that the server had not acknowledged; below 0 a time before which
  /// nothing counts, in negative nanoseconds since 1970.
  package let number: Int64

  /// Before all that was ever read.
  static let first = ReadMark(number: 0)

  /// A value that is made now, and not read.
  public init() { number = -Self.now() }

  init(number: Int64) { self.number = number }

  /// The mark of a value that was read with its version.
  package init(version: String?) { number = Self.number(of: version) }

  /// A value that counts as a whole: each of its fields is meant as it is. Set a value's `readMark` to it to put an old
  /// value back over what others have changed since.
  public static var whole: ReadMark { ReadMark(number: .min) }

  static func now() -> Int64 { Int64(clamping: Int(Date().timeIntervalSince1970 * 1_000_000) &* 1000) }

  /// The number that a version's text ends in; 0 where there is none, or one below 0. A mark before the number is left aside.
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
  /// True: two values with the same content are the same, whenever they were read.
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
  /// The mark of a value that the app kept. One that was kept without a mark counts as made now.
  public func decode(_ type: ReadMark.Type, forKey key: Key) throws -> ReadMark {
    try decodeIfPresent(type, forKey: key) ?? ReadMark()
  }
}
