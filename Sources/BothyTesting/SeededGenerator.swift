import BothyStore

/// Random numbers that a seed repeats, by SplitMix64.
///
/// A copy repeats the numbers of the original. They aren't for keys or passwords.
///
/// ```swift
/// var random = SeededGenerator(seed: 7)
/// let order = ["ada", "ben", "eve"].shuffled(using: &random)
/// let isOffline = random.chance(20)
/// ```
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var numbers: SplitMix64

  /// Creates a generator at the start of its numbers.
  ///
  /// - Parameter seed: equal seeds give equal numbers, on every platform. Any will do, 0 too.
  public init(seed: UInt64) { numbers = SplitMix64(seed: seed) }

  /// Returns the next number, of all 64 bits. Allocates nothing.
  public mutating func next() -> UInt64 { numbers.next() }

  /// True in `percent` of a hundred cases.
  ///
  /// 0 and less are never true, 100 and more always. Each call takes one number of the generator.
  public mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
}
