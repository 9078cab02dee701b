/// Dates in HTTP fields (RFC 9110 §5.6.7): reads the three forms strictly, writes the preferred one.
///
/// Names may be in any case, as some servers write them. Any other text outside the grammar is rejected. The day of the
/// week need not match the date. Makes one pass over the bytes, without a formatter.
package enum HTTPDate {
  private static let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
  private static let longDays = [
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
  ]
  private static let months = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
  ]

  /// Returns milliseconds since 1970, or nil for text that isn't a date.
  ///
  /// - Parameter now: The time that decides the century of two-digit years. No date is more than 50 years ahead of it.
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

  /// Reads the form `Sun, 06 Nov 1994 08:49:37 GMT`.
  private static func preferred(_ reader: inout DateReader) -> Int64? {
    guard reader.take(" "), let day = reader.number(2), reader.take(" "), let month = reader.month(months),
      reader.take(" "), let year = reader.number(4), reader.take(" "), let time = reader.time(),
      reader.takeZone(), reader.isAtEnd
    else { return nil }
    return moment(year, month, day, time)
  }

  /// Reads the form `Sunday, 06-Nov-94 08:49:37 GMT`.
  private static func obsolete(_ reader: inout DateReader, _ now: Int64) -> Int64? {
    guard reader.take(","), reader.take(" "), let day = reader.number(2), reader.take("-"),
      let month = reader.month(months), reader.take("-"), let short = reader.number(2), reader.take(" "),
      let time = reader.time(), reader.takeZone(), reader.isAtEnd
    else { return nil }
    let thisYear = CivilDate(dayNumber: now.flooredDivision(by: 86_400_000)).year
    var year = thisYear - thisYear % 100 + short
    if year > thisYear + 50 { year -= 100 }
    return moment(year, month, day, time)
  }

  /// Reads the form `Sun Nov  6 08:49:37 1994`.
  private static func asctime(_ reader: inout DateReader) -> Int64? {
    guard reader.take(" "), let month = reader.month(months), reader.take(" "),
      let day = reader.take(" ") ? reader.number(1) : reader.number(2), reader.take(" "),
      let time = reader.time(), reader.take(" "), let year = reader.number(4), reader.isAtEnd
    else { return nil }
    return moment(year, month, day, time)
  }

  private static func moment(_ year: Int64, _ month: Int64, _ day: Int64, _ seconds: Int64) -> Int64? {
    guard day >= 1 else { return nil }
    let number = CivilDate.dayNumber(year, month, day)
    let back = CivilDate(dayNumber: number)
    guard back.month == month, back.day == day else { return nil }
    return (number * 86_400 + seconds) * 1000
  }

  /// Returns the date in the preferred form, without its fraction of a second, for the years 0 to 9999.
  package static func text(_ milliseconds: Int64) -> String {
    let seconds = milliseconds.flooredDivision(by: 1000)
    let number = seconds.flooredDivision(by: 86_400)
    let rest = seconds - number * 86_400
    let date = CivilDate(dayNumber: number)
    let weekday = Int(((number + 3) % 7 + 7) % 7)
    let (hour, minute) = ((rest / 3600).padded(to: 2), (rest / 60 % 60).padded(to: 2))
    let time = "\(hour):\(minute):\((rest % 60).padded(to: 2))"
    return "\(days[weekday].capitalizedASCII), \(date.day.padded(to: 2)) "
      + "\(months[Int(date.month) - 1].capitalizedASCII) \(date.year.padded(to: 4)) \(time) GMT"
  }
}

/// A cursor over the bytes of a date.
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

  /// Reads letters up to the first other byte, and returns them in lower case.
  mutating func word() -> String? {
    let start = position
    while position < bytes.count, isLetter(bytes[position]) { position += 1 }
    guard position > start else { return nil }
    return String(decoding: bytes[start..<position].map { $0 | 0x20 }, as: UTF8.self)
  }

  /// Reads a number of exactly `count` digits.
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

  /// Reads the name of a month as 1 to 12.
  mutating func month(_ names: [String]) -> Int64? {
    word().flatMap { names.firstIndex(of: $0) }.map { Int64($0 + 1) }
  }

  /// Reads `08:49:37` as seconds of the day. A leap second counts as the first second of the next minute.
  mutating func time() -> Int64? {
    guard let hour = number(2), hour < 24, take(":"), let minute = number(2), minute < 60, take(":"),
      let second = number(2), second <= 60
    else { return nil }
    return hour * 3600 + minute * 60 + second
  }

  /// Reads ` GMT`.
  mutating func takeZone() -> Bool { take(" ") && word() == "gmt" }

  private func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
}

extension String {
  fileprivate var capitalizedASCII: String { prefix(1).uppercased() + dropFirst() }
}
