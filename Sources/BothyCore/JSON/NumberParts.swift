/// The digits of a number as one integer, with the position of the decimal point.
struct NumberParts {
  var magnitude: UInt64 = 0
  var overflow = false
  var places = 0
  var isWhole = true
  var hasExponent = false

  mutating func append(_ digit: UInt8) {
    let (product, high) = magnitude.multipliedReportingOverflow(by: 10)
    let (sum, carry) = product.addingReportingOverflow(UInt64(digit))
    overflow = overflow || high || carry
    magnitude = sum
  }

  /// The value, if it is the quotient of two numbers that a `Double` holds exactly. A single division then rounds
  /// correctly (Clinger, "How to Read Floating Point Numbers Accurately", 1990).
  var exactQuotient: Double? {
    guard !hasExponent, !overflow, magnitude <= 1 << 53, places < Self.powers.count else { return nil }
    return Double(magnitude) / Self.powers[places]
  }

  private static let powers: [Double] = [
    1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20,
    1e21, 1e22,
  ]
}
