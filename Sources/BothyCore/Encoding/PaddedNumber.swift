extension BinaryInteger {
  /// Returns the digits, with zeros before them up to a width. A minus sign is before the zeros.
  package func padded(to width: Int, radix: Int = 10) -> String {
    let digits = String(magnitude, radix: radix)
    return (self < 0 ? "-" : "") + String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
