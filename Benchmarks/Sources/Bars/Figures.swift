/// Figures in their printed form, and the median and the spread of many.
extension String {
  package func padded(_ width: Int) -> String {
    self + String(repeating: " ", count: max(0, width - count))
  }
  package func leftPadded(_ width: Int) -> String {
    String(repeating: " ", count: max(0, width - count)) + self
  }
}

extension Double {
  /// The number with two decimals below a hundred and none above.
  package var short: String {
    if self >= 100 { return String(Int(rounded())) }
    let hundredths = Int((self * 100).rounded())
    let rest = hundredths % 100
    return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)"
  }
}

extension [Double] {
  /// The middle value, or the mean of the two middle ones if their number is even.
  package var median: Double? {
    guard !isEmpty else { return nil }
    let sorted = sorted()
    let middle = count / 2
    return count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
  }

  /// The median with the range of the middle half of the values in brackets.
  package var spread: String {
    guard let median else { return "none" }
    let sorted = sorted()
    return "\(median.short) (\(sorted[(count - 1) / 4].short) to \(sorted[(count - 1) * 3 / 4].short))"
  }
}
