/// Values by keys, the latest used of them: at least as many as fit the limit, at most twice as many.
struct Remembered<Key: Hashable, Value> {
  private typealias Entry = (value: Value, cost: Int)

  private let limit: Int
  private var young: [Key: Entry] = [:]
  /// What was young before; what is used of it becomes young again, the rest goes.
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
