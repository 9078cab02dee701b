extension JSONReader {
  /// Reads a whole number in any notation, such as `-5.67118495E8`, without converting it to a `Double`. Throws
  /// `JSONError` for a fraction and for a number beyond 64 bits.
  package mutating func exactInt() throws -> Int64 {
    var copy = self
    if case .int(let value) = try number() { return value }
    guard let value = Int64(exactDecimal: try copy.rawValue()) else {
      throw error("a whole number of at most 64 bits expected")
    }
    return value
  }
}

extension Int64 {
  /// Creates the value of a JSON number. Nil if it has a fraction or doesn't fit.
  fileprivate init?(exactDecimal text: [UInt8]) {
    let parts = text.split(maxSplits: 1) { $0 | 0x20 == UInt8(ascii: "e") }
    let exponent = parts.count > 1 ? Int(String(decoding: parts[1], as: UTF8.self)) : 0
    guard let mantissa = parts.first, let exponent, (-400...400).contains(exponent) else { return nil }
    let isNegative = mantissa.first == UInt8(ascii: "-")
    let digits = mantissa.filter { $0 >= UInt8(ascii: "0") }.map { Int64($0 - UInt8(ascii: "0")) }
    let point = mantissa.firstIndex(of: UInt8(ascii: ".")) ?? mantissa.endIndex
    let wholeDigits = point - mantissa.startIndex - (isNegative ? 1 : 0) + exponent
    guard digits.dropFirst(Swift.max(wholeDigits, 0)).allSatisfy({ $0 == 0 }) else { return nil }
    var value: Int64 = 0
    for place in 0..<Swift.max(wholeDigits, 0) {
      let digit = place < digits.count ? digits[place] : 0
      let (product, isTooLarge) = value.multipliedReportingOverflow(by: 10)
      let (sum, isBeyond) = product.addingReportingOverflow(isNegative ? -digit : digit)
      if isTooLarge || isBeyond { return nil }
      value = sum
    }
    self = value
  }
}
