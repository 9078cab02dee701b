import Foundation

/// Random numbers that a seed repeats (SplitMix64, Steele, Lea and Flood, 2014).
struct Chance {
  private var state: UInt64

  init(seed: Int) { state = UInt64(bitPattern: Int64(seed)) }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Returns a number from 0 up to, but not including, 1.
  mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }

  mutating func below(_ bound: Int) -> Int { Int(unit() * Double(bound)) }

  /// Returns the time until the next event at `rate`.
  mutating func wait(rate: Double) -> Double { -log(1 - unit()) / rate }
}

/// The sizes of spaces. The space at place r has a share in proportion to r to the power of minus `skew` (Zipf). With 0
/// all are equal.
struct Sizes {
  /// The shares of the whole, the largest first.
  let shares: [Double]

  init(spaces: Int, skew: Double) {
    let weights = (1...spaces).map { pow(Double($0), -skew) }
    let sum = weights.reduce(0, +)
    shares = weights.map { $0 / sum }
  }
}
