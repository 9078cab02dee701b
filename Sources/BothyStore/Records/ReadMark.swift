internal import Synchronization

/// The state of a record that a value refers to: the state that was read, or that at the value's creation.
///
/// A save compares by it and preserves fields that others changed since and the caller didn't. `@Entity` adds the
/// property `readMark`. An entity written by hand declares `var readMark = ReadMark()` and sets it in `init(id:from:)`
/// to `fields.readMark`.
///
/// A save also compares with the last save of the same value, so that an edit is counted once. A copy of a value in Swift
/// has its mark, and counts as the same value. A value that is fetched again has a mark of its own.
///
/// A mark adds no content: all marks are equal, and add nothing to a hash. As JSON it is one whole number, so that a
/// value that the app stores over a relaunch still refers to the state that was read. Sixteen bytes.
public struct ReadMark: Sendable, Hashable {
  /// A state, equal to every other: two values with equal content are equal, whenever they were read.
  private struct State: Sendable, Hashable {
    let number: Int64
    let reading: Int64

    static func == (left: State, right: State) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
  }

  private let state: State
  /// A version from 0 on, where 0 is a record that the server had not acknowledged. Below 0 it is a negative
  /// `DeviceTime`; changes up to that time don't count.
  package var number: Int64 { state.number }
  /// The reading in this process, 0 for a value that counts as a whole. Below 0 the time of the reading isn't known.
  package var reading: Int64 { state.reading }

  /// The `DeviceTime` of the reading or creation in this process, or nil.
  var time: Int64? { reading > 0 ? (number < 0 ? -number : reading) : nil }

  /// The mark before any read.
  static let first = ReadMark(number: 0, reading: 0)

  /// Creates the mark of a value that is created now rather than read.
  ///
  /// A save of the value compares with changes that others make from now on. Its time is that of the device's clock when
  /// the process began, and the time since. Setting the clock changes nothing.
  public init() { self.init(number: -DeviceTime.now(), reading: Reading.next()) }

  init(number: Int64, reading: Int64) { state = State(number: number, reading: reading) }

  /// Creates the mark of a value that was read with its version, some time ago if no reading is given.
  package init(version: String?, reading: Int64? = nil) {
    self.init(number: Self.number(of: version), reading: reading ?? -Reading.next())
  }

  /// The mark of a value of which a save writes every field. Set a value's `readMark` to it to restore an old value
  /// over later changes of others.
  ///
  /// ```swift
  /// var old = todo
  /// old.readMark = .whole
  /// try await store.save(old)
  /// ```
  public static var whole: ReadMark { ReadMark(number: .min, reading: 0) }

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

extension ReadMark: Codable {
  /// Reads the mark from one whole number. The value counts as read in an earlier launch: a save preserves changes of
  /// others since, as far as the file still knows them.
  public init(from decoder: any Decoder) throws {
    let number = try decoder.singleValueContainer().decode(Int64.self)
    self.init(number: number, reading: number == .min ? 0 : -Reading.next())
  }

  /// Writes the mark as one whole number, so that a value stored by the app refers to its state after a relaunch.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(number)
  }
}

extension KeyedDecodingContainer {
  /// Decodes the mark of a value that the app stored. A value stored without a mark counts as created now. So older
  /// documents of an app stay readable after it adds `readMark`. Null counts as absent.
  public func decode(_ type: ReadMark.Type, forKey key: Key) throws -> ReadMark {
    try decodeIfPresent(type, forKey: key) ?? ReadMark()
  }
}

/// The numbers of readings and changes in this process, in their order. Each is about the time of the process, see
/// `DeviceTime`, so that the changes of another process of the device can be compared with it.
enum Reading {
  private static let last = Atomic<Int64>(0)

  /// Returns the next number. It must be taken before the snapshot of the reading.
  ///
  /// - Parameter inWrite: true inside a write transaction, which sees its own changes before the commit.
  static func next(inWrite: Bool = false) -> Int64 {
    _ = last.max(DeviceTime.now(), ordering: .sequentiallyConsistent)
    return last.add(2, ordering: .sequentiallyConsistent).newValue | (inWrite ? 1 : 0)
  }

  static func isInWrite(_ number: Int64) -> Bool { number & 1 == 1 }
}
