public import struct Foundation.Date

/// A point in time as it is stored and sent: whole milliseconds since 1970-01-01T00:00:00Z, negative before.
///
/// ```swift
/// let departure = Timestamp(Date())
/// let later = Timestamp(milliseconds: departure.milliseconds + 3_600_000)  // an hour
/// print(departure < later)  // true
/// ```
///
/// Calendar conversions follow the proleptic Gregorian calendar by the day-count algorithm of Howard Hinnant,
/// "chrono-Compatible Low-Level Date Algorithms". Text follows RFC 3339.
public struct Timestamp: Sendable, Hashable, Comparable {
  /// Whole milliseconds since 1970-01-01T00:00:00Z, negative before. Leap seconds don't count.
  public var milliseconds: Int64

  /// Creates a time from its stored milliseconds. Any number is valid.
  public init(milliseconds: Int64) { self.milliseconds = milliseconds }

  /// Creates the nearest millisecond. Clamps dates beyond the range of 64 bits.
  ///
  /// Two dates within one millisecond may become equal.
  public init(_ date: Date) {
    let exact = (date.timeIntervalSince1970 * 1000).rounded()
    milliseconds = Int64(exactly: exact) ?? (exact > 0 ? .max : .min)
  }

  /// The time as a `Date` of Foundation, which counts in seconds.
  @usableFromInline package var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }

  /// Returns true if the left time is the earlier one.
  public static func < (left: Timestamp, right: Timestamp) -> Bool { left.milliseconds < right.milliseconds }

  /// Reads `2026-12-01`, or `2026-12-01T08:30:00Z` with an optional fraction and an offset. A date alone is midnight
  /// UTC. Nil if the text has another form or the day doesn't exist.
  package init?(rfc3339 text: String) {
    var scanner = Scanner(text)
    guard let year = scanner.number(4), scanner.take("-"), let month = scanner.number(2), scanner.take("-"),
      let day = scanner.number(2), (1...12).contains(month), day >= 1,
      day <= Self.days(in: month, year)
    else { return nil }
    var milliseconds = CivilDate.dayNumber(year, month, day) * 86_400_000
    if !scanner.atEnd {
      guard scanner.take("T") || scanner.take("t") || scanner.take(" "), let time = scanner.timeOfDay(),
        let offset = scanner.offset(), scanner.atEnd
      else { return nil }
      milliseconds += time - offset
    }
    self.milliseconds = milliseconds
  }

  /// `2026-12-01T08:30:00.000Z`.
  package var rfc3339: String {
    let day = milliseconds.flooredDivision(by: 86_400_000)
    let rest = milliseconds &- day &* 86_400_000  // the product may wrap, the difference is within a day
    let date = CivilDate(dayNumber: day)
    let (hour, minute) = ((rest / 3_600_000).padded(to: 2), (rest / 60_000 % 60).padded(to: 2))
    let (second, fraction) = ((rest / 1000 % 60).padded(to: 2), (rest % 1000).padded(to: 3))
    return "\(date.year.padded(to: 4))-\(date.month.padded(to: 2))-\(date.day.padded(to: 2))"
      + "T\(hour):\(minute):\(second).\(fraction)Z"
  }

  private static func days(in month: Int64, _ year: Int64) -> Int64 {
    switch month {
    case 2: (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  private struct Scanner {
    private let bytes: [UInt8]
    private var position = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    var atEnd: Bool { position == bytes.count }

    mutating func take(_ character: Character) -> Bool {
      guard position < bytes.count, bytes[position] == character.asciiValue else { return false }
      position += 1
      return true
    }

    mutating func number(_ width: Int) -> Int64? {
      guard position + width <= bytes.count else { return nil }
      var value: Int64 = 0
      for byte in bytes[position..<position + width] {
        guard byte >= 0x30, byte <= 0x39 else { return nil }
        value = value * 10 + Int64(byte - 0x30)
      }
      position += width
      return value
    }

    mutating func timeOfDay() -> Int64? {
      guard let hour = number(2), hour < 24, take(":"), let minute = number(2), minute < 60 else {
        return nil
      }
      var time = hour * 3_600_000 + minute * 60_000
      guard take(":") else { return time }
      guard let second = number(2), second <= 60 else { return nil }
      time += second * 1000
      guard take(".") else { return time }
      var scale: Int64 = 100
      guard let first = number(1) else { return nil }
      time += first * scale
      while let digit = number(1) {
        scale /= 10
        time += digit * scale
      }
      return time
    }

    /// Reads the offset from UTC in milliseconds. Text without an offset is taken as UTC.
    mutating func offset() -> Int64? {
      if atEnd || take("Z") || take("z") { return 0 }
      let sign: Int64 = take("-") ? -1 : take("+") ? 1 : 0
      guard sign != 0, let hour = number(2), hour < 24, take(":"), let minute = number(2), minute < 60 else {
        return nil
      }
      return sign * (hour * 3_600_000 + minute * 60_000)
    }
  }
}
