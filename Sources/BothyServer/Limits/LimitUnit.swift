/// The unit of a limit, with its values as text.
package enum LimitUnit: String, Sendable {
  /// A whole number of things.
  case count
  /// Bytes. Text has K, M, G or T for powers of 1024.
  case bytes
  /// Units of 1,048,576 bytes.
  case megabytes
  /// Milliseconds. Text has numbers with w, d, h, m, s or ms.
  case time
  /// A number for each second, with decimals.
  case rate

  /// Parses a value. Returns `nil` for other texts.
  package func value(of text: String) -> Double? {
    switch self {
    case .count, .megabytes: Self.number(text)
    case .bytes: Self.bytes(text).map { Double($0) }
    case .time: Self.milliseconds(text).map { Double($0) }
    case .rate: Double(text).flatMap { $0.isFinite ? $0 : nil }
    }
  }

  /// Returns the shortest text of a value.
  package func text(_ value: Double) -> String {
    switch self {
    case .rate where value != value.rounded(): "\(value)"
    case .count, .megabytes, .rate: Self.whole(value, [])
    case .bytes: Self.whole(value, [("T", 1 << 40), ("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)])
    case .time:
      value == 0
        ? "0s"
        : Self.whole(value, [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)])
    }
  }

  /// The name of a value in the help of an option.
  package var valueName: String {
    switch self {
    case .count, .megabytes, .rate: "n"
    case .bytes: "size"
    case .time: "time"
    }
  }

  /// The kind of a value in a sentence.
  var phrase: String {
    switch self {
    case .count, .megabytes: ""
    case .bytes: "a size "
    case .time: "a time "
    case .rate: "a number "
    }
  }

  private static func whole(_ value: Double, _ scales: [(String, Int64)]) -> String {
    let number = Int64(value)
    for (name, scale) in scales where number >= scale && number % scale == 0 {
      return "\(number / scale)\(name)"
    }
    return "\(number)"
  }

  private static func number(_ text: String) -> Double? {
    guard let number = Int64(text) else { return nil }
    return Double(number)
  }

  private static func bytes(_ text: String) -> Int64? {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    let scales: [String: Int64] = ["": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40]
    guard let number = Int64(digits), let scale = scales[text.dropFirst(digits.count).uppercased()] else {
      return nil
    }
    let (product, overflows) = number.multipliedReportingOverflow(by: scale)
    return overflows ? nil : product
  }

  /// Parses numbers with w, d, h, m, s or ms, such as `7d1s`. Returns the milliseconds, or `nil` for other texts.
  package static func milliseconds(_ text: some StringProtocol) -> Int64? {
    var rest = Substring(text)
    var total: Int64 = 0
    repeat {
      let digits = rest.prefix { $0.isASCII && $0.isNumber }
      rest = rest.dropFirst(digits.count)
      let unit = rest.prefix { $0.isLetter }
      rest = rest.dropFirst(unit.count)
      guard let number = Int64(digits), let scale = times[String(unit)] else { return nil }
      let (product, overflows) = number.multipliedReportingOverflow(by: scale)
      guard !overflows, product < 1 << 60, total < 1 << 60 else { return nil }
      total += product
    } while !rest.isEmpty
    return total
  }

  private static let times: [String: Int64] = [
    "w": 604_800_000, "d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1,
  ]
}
