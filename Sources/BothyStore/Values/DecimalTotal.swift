/// The exact sum of decimal numbers, whatever their order: a number of fixed point in limbs of nine digits.
///
/// The limbs are in memory that begins as zeros, such as that of an aggregate function. Adding carries nothing, so a
/// limb has room for eight billion numbers.
package enum DecimalTotal {
  /// The number of limbs, the lowest first: 15 behind the point and 25 before it.
  static let count = 40
  /// The limbs of 0.
  static let zero = [Int64](repeating: 0, count: count)
  private static let fractions = 15
  private static let base: Int64 = 1_000_000_000
  private static let powers: [Int64] = [
    1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000,
  ]

  /// Adds a number, or subtracts it. Returns false, and adds nothing, if it has more digits than a `Decimal` can have.
  static func add(
    _ number: DecimalDigits, subtracting: Bool = false, to limbs: UnsafeMutableBufferPointer<Int64>
  ) -> Bool {
    let (whole, fraction) = (number.whole, number.fraction)
    guard whole.count <= 9 * 20, fraction.count <= 9 * fractions, limbs.count == count else { return false }
    let sign: Int64 = number.isNegative == subtracting ? 1 : -1
    for (index, digit) in whole.enumerated() {
      let power = whole.count - 1 - index
      limbs[fractions + power / 9] += sign * Int64(digit) * powers[power % 9]
    }
    for (index, digit) in fraction.enumerated() {
      limbs[fractions - 1 - index / 9] += sign * Int64(digit) * powers[8 - index % 9]
    }
    return true
  }

  /// Returns the digits of the sum.
  static func digits(of limbs: some Collection<Int64>) -> DecimalDigits {
    var exact = carried(Array(limbs))
    let isNegative = exact.last.map { $0 < 0 } ?? false
    if isNegative { exact = carried(limbs.map { -$0 }) }
    let digits: [UInt8] = exact.reversed().flatMap { limb in
      powers.reversed().map { power in UInt8(limb / power % 10) }
    }
    let point = digits.count - 9 * fractions
    return DecimalDigits(
      isNegative: isNegative, whole: Array(digits[..<point]), fraction: Array(digits[point...]))
  }

  /// Returns the limbs with each below the base, and the sign in the last one.
  private static func carried(_ limbs: [Int64]) -> [Int64] {
    var limbs = limbs
    for index in limbs.indices.dropLast() {
      var (quotient, rest) = limbs[index].quotientAndRemainder(dividingBy: base)
      if rest < 0 { (quotient, rest) = (quotient - 1, rest + base) }
      limbs[index] = rest
      limbs[index + 1] += quotient
    }
    return limbs
  }

  /// Returns the text of `later` with what led from `base` to `other` added. Without a base all of `other` is added. Nil
  /// if one of them isn't the text of a decimal, or if a `Decimal` can't have all digits of the result.
  package static func counted(_ later: String, from base: String?, to other: String) -> String? {
    let texts = [(later, false), (other, false)] + (base.map { [($0, true)] } ?? [])
    var limbs = zero
    let isWhole = limbs.withUnsafeMutableBufferPointer { limbs in
      let limbs = limbs
      return texts.allSatisfy { text, isBase in
        DecimalDigits(stored: text.utf8).map { add($0, subtracting: isBase, to: limbs) } ?? false
      }
    }
    let sum = digits(of: limbs)
    return isWhole && sum.decimal != nil ? sum.stored : nil
  }
}
