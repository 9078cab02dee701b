import BothyCache
import BothyTestSupport
import BothyTesting
import Testing

@Suite("The memory tier", .timeLimit(.minutes(5)))
struct MemoryTierTests {
  private func tier(
    count: Int? = nil, bytes: Int = 1 << 20, order: MemoryLimits.Order = .leastRecentlyUsed, share: Double = 1
  ) -> MemoryTier<Int, Int> {
    MemoryTier(MemoryLimits(bytes: bytes, count: count, largestShare: share, order: order))
  }

  private func held(_ tier: MemoryTier<Int, Int>, _ keys: Range<Int>) -> [Int] {
    keys.filter { tier.look($0) != nil }
  }

  /// Promises: R-6
  @Test("The value that was read last is evicted last")
  func leastRecentlyUsed() {
    let tier = tier(count: 3)
    for key in 0..<3 { tier.insert(key, key, cost: 1) }
    #expect(tier.read(0, now: 1) == 0)
    tier.insert(3, 3, cost: 1)
    #expect(held(tier, 0..<4) == [0, 2, 3])
  }

  /// Promises: B-28
  @Test("A new value for a key in a full tier evicts nothing", arguments: MemoryLimits.Order.allCases)
  func replacing(order: MemoryLimits.Order) {
    let tier = tier(count: 3, order: order)
    for key in 0..<3 { tier.insert(key, key, cost: 1) }
    tier.insert(1, 10, cost: 1)
    #expect(held(tier, 0..<3) == [0, 1, 2])
    #expect(tier.look(1) == 10)
    #expect(tier.count == 3)
  }

  /// Promises: B-29
  @Test("A negative capacity counts as one, not as unlimited", arguments: [-5, 0, 1])
  func negativeCapacity(count: Int) {
    let tier = tier(count: count)
    for key in 0..<10 { tier.insert(key, key, cost: 1) }
    #expect(held(tier, 0..<10) == [9])
    #expect(MemoryLimits(bytes: -1).bytes == 0)
  }

  @Test(
    "The limit in bytes holds after every insertion, also when an entry grows",
    arguments: MemoryLimits.Order.allCases)
  func bytes(order: MemoryLimits.Order) {
    let tier = tier(bytes: 1000, order: order)
    for key in 0..<100 {
      tier.insert(key % 30, key, cost: 10 + key)
      #expect(tier.cost <= 1000)
      #expect(tier.look(key % 30) == key)
    }
  }

  @Test("A value above the share of one entry is rejected and removes its predecessor")
  func tooLarge() {
    let tier = tier(bytes: 1000, share: 0.1)
    #expect(tier.insert(1, 1, cost: 100))
    #expect(!tier.insert(1, 2, cost: 101))
    #expect(tier.look(1) == nil)
  }

  @Test("An entry fits if its share allows it", arguments: [0.1, 0.25, 0.3, 1])
  func share(_ share: Double) {
    let limits = MemoryLimits(bytes: 64 << 20, largestShare: share)
    let tier = MemoryTier<Int, Int>(limits)
    let most = Int(Double(limits.bytes) * share)
    #expect(tier.insert(1, 1, cost: most) && !tier.insert(2, 2, cost: most + 1))
  }

  /// Promises: R-6
  @Test("A scan of values read once does not evict values read repeatedly")
  func scan() {
    let tier = tier(count: 100, order: .scanResistant)
    for key in 0..<50 { tier.insert(key, key, cost: 1) }
    for round in 0..<3 { for key in 0..<50 { _ = tier.read(key, now: Int64(round)) } }
    for key in 1000..<3000 { tier.insert(key, key, cost: 1) }
    #expect(held(tier, 0..<50).count == 50)
    let plain = self.tier(count: 100)
    for key in 0..<50 { plain.insert(key, key, cost: 1) }
    for key in 1000..<3000 { plain.insert(key, key, cost: 1) }
    #expect(held(plain, 0..<50).isEmpty)
  }

  /// Promises: B-34, R-6
  @Test(
    "The time of insertions is proportional to their number",
    arguments: MemoryLimits.Order.allCases)
  func linear(order: MemoryLimits.Order) {
    func time(_ count: Int) -> Duration {
      processorTime {
        let tier = tier(count: count / 10, bytes: .max, order: order)
        for key in 0..<count {
          tier.insert(key, key, cost: 1)
          if key % 3 == 0 { _ = tier.read(key / 2, now: 0) }
        }
        #expect(tier.count == count / 10)
      }
    }
    let small = (0..<5).map { _ in time(2_000) }.min() ?? .zero
    let large = (0..<3).map { _ in time(100_000) }.min() ?? .zero
    // It takes some fifty times as long, and with a full scan for each evicted value 2,500 times.
    #expect(large < small * 400)
  }

  @Test("Trimming keeps the requested part of the limits")
  func trimming() {
    let tier = MemoryTier<Int, Int>(MemoryLimits(bytes: 1000, largestShare: 1))
    for key in 0..<100 { tier.insert(key, key, cost: 10) }
    #expect(tier.count == 100)
    tier.trim(to: 0.5)
    #expect(tier.cost == 500)
    tier.trim(to: 0)
    #expect(tier.count == 0)
  }
}
