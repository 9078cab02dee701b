import BothyCache
import BothyTesting
import Testing

@Suite("The memory tier against a model of ten lines", .timeLimit(.minutes(5)))
struct MemoryModelTests {
  /// Keys in the order of eviction, the next one first.
  private struct Model {
    let capacity: Int
    let touches: Bool
    var keys: [Int] = []
    var values: [Int: Int] = [:]

    mutating func read(_ key: Int) -> Int? {
      if touches, let place = keys.firstIndex(of: key) { keys.append(keys.remove(at: place)) }
      return values[key]
    }
    mutating func put(_ key: Int, _ value: Int) {
      if values[key] == nil { keys.append(key) } else { _ = read(key) }
      values[key] = value
      if keys.count > capacity { values[keys.removeFirst()] = nil }
    }
    mutating func remove(_ key: Int) {
      keys.removeAll { $0 == key }
      values[key] = nil
    }
  }

  /// Promises: R-6, B-34
  @Test(
    "The tier equals the model after ten thousand random steps",
    arguments: [MemoryLimits.Order.leastRecentlyUsed, .firstIn], [1, 2, 3] as [UInt64])
  func model(order: MemoryLimits.Order, seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let capacity = Int.random(in: 1...40, using: &random)
    let tier = MemoryTier<Int, Int>(MemoryLimits(count: capacity, order: order))
    var model = Model(capacity: capacity, touches: order == .leastRecentlyUsed)
    for step in 0..<10_000 {
      let key = Int.random(in: 0..<60, using: &random)
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<5: #expect(tier.read(key, now: Int64(step)) == model.read(key), "seed \(seed), step \(step)")
      case 5..<9:
        tier.insert(key, step, cost: 1)
        model.put(key, step)
      default:
        tier.remove(key)
        model.remove(key)
      }
      #expect(tier.count == model.values.count, "seed \(seed), step \(step)")
    }
    for key in 0..<60 { #expect(tier.look(key) == model.values[key], "seed \(seed)") }
  }

  /// Promises: R-6
  @Test(
    "Scan resistance respects the limits and never returns a wrong value",
    arguments: [1, 2, 3] as [UInt64])
  func bounds(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let limits = MemoryLimits(bytes: 2000, count: 40, largestShare: 0.5)
    let tier = MemoryTier<Int, Int>(limits)
    var last: [Int: Int] = [:]
    for step in 0..<10_000 {
      let key = Int.random(in: 0..<200, using: &random)
      if random.chance(40) {
        let isKept = tier.insert(key, step, cost: Int.random(in: 1...1100, using: &random))
        last[key] = isKept ? step : nil
        #expect((tier.look(key) != nil) == isKept, "seed \(seed), step \(step)")
      } else if let value = tier.read(key, now: Int64(step)) {
        #expect(value == last[key], "seed \(seed), step \(step)")
      }
      #expect(tier.cost <= 2000 && tier.count <= 40, "seed \(seed), step \(step)")
    }
  }
}
