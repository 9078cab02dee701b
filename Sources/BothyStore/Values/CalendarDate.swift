public import struct Foundation.Date
public import struct Foundation.DateComponents
public import struct Foundation.TimeZone

/// A day of the Gregorian calendar, without a time and a time zone: a birthday, a night in a hut.
///
/// ```swift
/// @Entity struct Bill {
///   var total: Decimal
///   @Indexed var due: CalendarDate?
/// }
///
/// let today = CalendarDate(Date(), in: .current)
/// let late = Bill.where { $0.due < today }
/// ```
///
/// A `Date` is a moment, which is another day elsewhere. Stored and sent as text, `2026-03-09`. Years are 1 to 9999.
public struct CalendarDate: RawRepresentable, FieldConvertible, Hashable, Comparable, Codable {
  /// The day as ISO 8601 writes it: `2026-03-09`.
  public let rawValue: String

  /// Creates a day from its text. Returns nil for text of another form, and for a day that no calendar has.
  public init?(rawValue: String) {
    let bytes = Array(rawValue.utf8)
    guard bytes.count == 10, bytes[4] == Self.dash, bytes[7] == Self.dash,
      let year = Self.number(bytes[..<4]), let month = Self.number(bytes[5..<7]),
      let day = Self.number(bytes[8...])
    else { return nil }
    self.init(year: year, month: month, day: day)
  }

  /// Creates a day from its numbers, the first of which are 1. Returns nil for a day that no calendar has, such as 30
  /// February.
  package init?(year: Int, month: Int, day: Int) {
    guard (1...9999).contains(year), (1...12).contains(month),
      (1...Self.days(in: month, of: year)).contains(day)
    else { return nil }
    rawValue = Self.text(year, month, day)
  }

  /// Creates the day of a moment in a time zone. `CalendarDate(Date(), in: .current)` is today.
  ///
  /// A moment before the year 1 gives the first day, and one after the year 9999 the last.
  public init(_ date: Date, in timeZone: TimeZone) {
    let bounds = -62_135_596_800.0...253_402_300_799.0
    func bounded(_ time: Double) -> Double { min(max(time, bounds.lowerBound), bounds.upperBound) }
    let time = date.timeIntervalSince1970
    let moment = Date(timeIntervalSince1970: time.isNaN ? 0 : bounded(time))
    let offset = Double(timeZone.secondsFromGMT(for: moment))
    let days = (bounded(moment.timeIntervalSince1970 + offset) / 86_400).rounded(.down)
    let (year, month, day) = Self.parts(ofDay: Int(days))
    rawValue = Self.text(year, month, day)
  }

  /// The year, the month and the day, for a calendar: `Calendar.current.date(from: bill.due.components)`.
  public var components: DateComponents { DateComponents(year: year, month: month, day: day) }
  /// The year, from 1 to 9999.
  package var year: Int { Self.number(rawValue.utf8.prefix(4)) ?? 1 }
  /// The month, from 1 to 12.
  package var month: Int { Self.number(rawValue.utf8.dropFirst(5).prefix(2)) ?? 1 }
  /// The day of the month, from 1 to 31.
  package var day: Int { Self.number(rawValue.utf8.suffix(2)) ?? 1 }

  /// True if the left day is before the right one.
  public static func < (left: CalendarDate, right: CalendarDate) -> Bool {
    left.rawValue.utf8.lexicographicallyPrecedes(right.rawValue.utf8)
  }

  private static let dash = UInt8(ascii: "-")

  private static func number(_ digits: some Sequence<UInt8>) -> Int? {
    var number = 0
    for digit in digits {
      guard 0x30...0x39 ~= digit else { return nil }
      number = number * 10 + Int(digit - 0x30)
    }
    return number
  }

  private static func text(_ year: Int, _ month: Int, _ day: Int) -> String {
    func padded(_ number: Int, _ length: Int) -> String {
      let digits = String(number)
      return String(repeating: "0", count: length - digits.count) + digits
    }
    return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
  }

  private static func days(in month: Int, of year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Returns the parts of a day that is counted from 1970. Years begin in March here, so that the leap day is their last
  /// (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
  private static func parts(ofDay number: Int) -> (year: Int, month: Int, day: Int) {
    let sinceMarch = number + 719_468  // since 1 March of the year 0
    let era = sinceMarch / 146_097  // of 400 years
    let day = sinceMarch % 146_097
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365
    let rest = day - (365 * year + year / 4 - year / 100)
    let month = (5 * rest + 2) / 153
    let isNext = month >= 10  // January or February
    return (
      year: era * 400 + year + (isNext ? 1 : 0), month: isNext ? month - 9 : month + 3,
      day: rest - (153 * month + 2) / 5 + 1
    )
  }
}
