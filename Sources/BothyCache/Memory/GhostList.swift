/// The hashes of recently evicted keys, first in, first out.
struct GhostList {
  private var members: Set<Int> = []
  private var queue: [Int] = []
  private var head = 0

  var count: Int { members.count }

  /// Inserts a hash and forgets the oldest ones beyond the limit.
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

  /// Removes a hash. Returns true if the list had it.
  mutating func remove(_ hash: Int) -> Bool { members.remove(hash) != nil }

  mutating func removeAll() { self = GhostList() }
}
