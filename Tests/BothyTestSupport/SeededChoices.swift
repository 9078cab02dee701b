import BothyStore

/// Random choices that a seed repeats, by SplitMix64.
///
/// `SeededGenerator` of `BothyTesting` gives equal numbers. Tests of the store use this, because they build without sync.
package struct SeededChoices: RandomNumberGenerator {
  private var numbers: SplitMix64

  package init(seed: UInt64) { numbers = SplitMix64(seed: seed) }

  package mutating func next() -> UInt64 { numbers.next() }

  /// True in this part of all cases, from 0 to 1.
  package mutating func chance(_ part: Double) -> Bool { Double.random(in: 0..<1, using: &self) < part }

  package mutating func pick<Element>(_ choices: [Element]) -> Element {
    choices[Int.random(in: choices.indices, using: &self)]
  }
}
