/// Remembers which keys were let go lately, by their hashes, first in first out.
struct GhostList {
  private var members: Set<Int> = []
  private var queue: [Int] = []
  private var head = 0

  var count: Int { members.count }

  /// Adds a hash and forgets the oldest beyond the limit.
  mutating func insert(_ hash: Int, limit: Int) {
    if members.insert(hash).inserted { queue.append(hash) }
    while members.count > limit, head < queue.count {
      members.remove(queue[head])
      head += 1
    }
    if head > 64, head * 2 > queue.count {
      queue.removeFirst(head)
      head = 0
    }
  }

  /// Whether it was there; it is not any more.
  mutating func remove(_ hash: Int) -> Bool { members.remove(hash) != nil }

  mutating func removeAll() { self = GhostList() }
}
