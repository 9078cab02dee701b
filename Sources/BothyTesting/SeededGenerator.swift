import BothyStore

/// Random numbers that a seed repeats, by SplitMix64.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var numbers: SplitMix64

  /// - Parameter seed: equal seeds give equal numbers, on every platform. Any will do, 0 too.
  public init(seed: UInt64) { numbers = SplitMix64(seed: seed) }

  public mutating func next() -> UInt64 { numbers.next() }

  /// True in `percent` of a hundred cases.
  public mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
}
