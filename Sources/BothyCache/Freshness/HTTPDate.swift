/// Dates in HTTP fields (RFC 9110 §5.6.7): reads the three forms strictly, writes the preferred one.
///
/// Names may be in any case, as servers write them; anything else that is not in the grammar is no date. The day of
/// the week is not held against the date. One pass over the bytes, without a formatter.
package enum HTTPDate {
  private static let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
  private static let longDays = [
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
  ]
  private static let months = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
  ]

  /// Milliseconds since 1970, or nil for text that is no date.
  ///
  /// - Parameter now: decides the century of years with two digits: none is more than 50 years ahead.
  package static func milliseconds(_ text: String, now: Int64) -> Int64? {
    var text = text
    return text.withUTF8 { bytes in
      var reader = DateReader(bytes)
      guard let day = reader.word() else { return nil }
      if longDays.contains(day) { return obsolete(&reader, now) }
      guard days.contains(day) else { return nil }
      return reader.take(",") ? preferred(&reader) : asctime(&reader)
    }
  }

  /// `Sun, 06 Nov 1994 08:49:37 GMT`
  private static func preferred(_ reader: inout DateReader) -> Int64? {
    guard reader.take(" "), let day = reader.number(2), reader.take(" "), let month = reader.month(months),
      reader.take(" "), let year = reader.number(4), reader.take(" "), let time = reader.time(),
      reader.takeZone(), reader.isAtEnd
    else { return nil }
    return moment(year, month, day, time)
  }

  /// `Sunday, 06-Nov-94 08:49:37 GMT`
  private static func obsolete(_ reader: inout DateReader, _ now: Int64) -> Int64? {
    guard reader.take(","), reader.take(" "), let day = reader.number(2), reader.take("-"),
      let month = reader.month(months), reader.take("-"), let short = reader.number(2), reader.take(" "),
      let time = reader.time(), reader.takeZone(), reader.isAtEnd
    else { return nil }
    let thisYear = civil(dayNumber: floorDivide(now, 86_400_000)).year
    var year = thisYear - thisYear % 100 + short
    if year > thisYear + 50 { year -= 100 }
    return moment(year, month, day, time)
  }

  /// `Sun Nov  6 08:49:37 1994`
  private static func asctime(_ reader: inout DateReader) -> Int64? {
    guard reader.take(" "), let month = reader.month(months), reader.take(" "),
      let day = reader.take(" ") ? reader.number(1) : reader.number(2), reader.take(" "),
      let time = reader.time(), reader.take(" "), let year = reader.number(4), reader.isAtEnd
    else { return nil }
    return moment(year, month, day, time)
  }

  private static func moment(_ year: Int64, _ month: Int64, _ day: Int64, _ seconds: Int64) -> Int64? {
    guard day >= 1 else { return nil }
    let number = dayNumber(year, month, day)
    let back = civil(dayNumber: number)
    guard back.month == month, back.day == day else { return nil }
    return (number * 86_400 + seconds) * 1000
  }

  /// The date in the preferred form, without its fraction of a second; years 0 to 9999.
  package static func text(_ milliseconds: Int64) -> String {
    let seconds = floorDivide(milliseconds, 1000)
    let number = floorDivide(seconds, 86_400)
    let rest = seconds - number * 86_400
    let date = civil(dayNumber: number)
    let weekday = Int(((number + 3) % 7 + 7) % 7)
    func padded(_ value: Int64, _ count: Int) -> String {
      let digits = String(value)
      return String(repeating: "0", count: max(0, count - digits.count)) + digits
    }
    let time = "\(padded(rest / 3600, 2)):\(padded(rest / 60 % 60, 2)):\(padded(rest % 60, 2))"
    return "\(days[weekday].capitalizedASCII), \(padded(date.day, 2)) "
      + "\(months[Int(date.month) - 1].capitalizedASCII) \(padded(date.year, 4)) \(time) GMT"
  }

  private static func floorDivide(_ value: Int64, _ by: Int64) -> Int64 {
    value / by - (value % by < 0 ? 1 : 0)
  }

  /// Days since 1970 of a date of the Gregorian calendar (Hinnant, "chrono-compatible low-level date algorithms").
  private static func dayNumber(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let year = month <= 2 ? year - 1 : year
    let era = floorDivide(year, 400)
    let ofEra = year - era * 400
    let ofYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468
  }

  private static func civil(dayNumber: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = dayNumber + 719_468
    let era = floorDivide(shifted, 146_097)
    let ofEra = shifted - era * 146_097
    let yearOfEra = (ofEra - ofEra / 1460 + ofEra / 36_524 - ofEra / 146_096) / 365
    let ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * ofYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, ofYear - (153 * shiftedMonth + 2) / 5 + 1)
  }
}

/// Goes through the bytes of a date.
private struct DateReader {
  private let bytes: UnsafeBufferPointer<UInt8>
  private var position = 0

  init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

  var isAtEnd: Bool { position == bytes.count }

  mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard position < bytes.count, UInt32(bytes[position]) == character.value else { return false }
    position += 1
    return true
  }

  /// Letters up to what is none, in lower case.
  mutating func word() -> String? {
    let start = position
    while position < bytes.count, isLetter(bytes[position]) { position += 1 }
    guard position > start else { return nil }
    return String(decoding: bytes[start..<position].map { $0 | 0x20 }, as: UTF8.self)
  }

  /// A number of exactly this many digits.
  mutating func number(_ count: Int) -> Int64? {
    guard position + count <= bytes.count else { return nil }
    var value: Int64 = 0
    for byte in bytes[position..<position + count] {
      guard byte >= 0x30, byte <= 0x39 else { return nil }
      value = value * 10 + Int64(byte - 0x30)
    }
    position += count
    return value
  }

  /// A month by its name, 1 to 12.
  mutating func month(_ names: [String]) -> Int64? {
    word().flatMap { names.firstIndex(of: $0) }.map { Int64($0 + 1) }
  }

  /// `08:49:37` as seconds of the day; a leap second counts as the first of the next minute.
  mutating func time() -> Int64? {
    guard let hour = number(2), hour < 24, take(":"), let minute = number(2), minute < 60, take(":"),
      let second = number(2), second <= 60
    else { return nil }
    return hour * 3600 + minute * 60 + second
  }

  /// ` GMT`
  mutating func takeZone() -> Bool { take(" ") && word() == "gmt" }

  private func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
}

extension String {
  fileprivate var capitalizedASCII: String { prefix(1).uppercased() + dropFirst() }
}
