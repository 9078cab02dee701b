/// The most recently used values by key. Their cost is at least the limit and at most twice as much.
struct TwoGenerationCache<Key: Hashable, Value> {
  private typealias Entry = (value: Value, cost: Int)

  private let limit: Int
  private var young: [Key: Entry] = [:]
  /// The previous generation. Entries that are used become young again, and the others are evicted.
  private var old: [Key: Entry] = [:]
  private var cost = 0

  init(limit: Int) { self.limit = limit }

  mutating func read(_ key: Key) -> Value? {
    if let entry = young[key] { return entry.value }
    guard let entry = old[key] else { return nil }
    insert(key, entry.value, cost: entry.cost)
    return entry.value
  }

  mutating func insert(_ key: Key, _ value: Value, cost added: Int) {
    if cost + added > limit { (old, young, cost) = (young, [:], 0) }
    young[key] = (value, added)
    cost += added
  }
}
