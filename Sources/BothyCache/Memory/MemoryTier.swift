internal import Synchronization

/// Values in memory behind locks that are held for well under a microsecond: any thread may call, none ever waits for
/// a disk or a network here.
package final class MemoryTier<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  typealias Evicted = MemoryShard<Key, Value>.Evicted

  private final class Guarded: Sendable {
    let shard: Mutex<MemoryShard<Key, Value>>
    init(_ shard: sending MemoryShard<Key, Value>) { self.shard = Mutex(shard) }
  }

  private let parts: [Guarded]
  package let limits: MemoryLimits

  package init(_ limits: MemoryLimits) {
    self.limits = limits
    let count = limits.shardCount
    parts = (0..<count).map { _ in
      Guarded(
        MemoryShard(
          maximumCost: limits.bytes / count, maximumCount: limits.count.map { $0 / count } ?? .max,
          largestCost: limits.largestCost, order: limits.order))
    }
  }

  /// The value, which counts as read now. `group` is whose hits are counted: a small number.
  ///
  /// - Parameter accepts: asked under the lock; what it does not want is not given and does not count.
  package func read(_ key: Key, now: Int64, group: Int = 0, if accepts: (Value) -> Bool = { _ in true })
    -> Value?
  {
    part(key).shard.withLock { $0.read(key, now: now, group: group, if: accepts) }
  }

  /// The value, without counting as read.
  package func look(_ key: Key) -> Value? { part(key).shard.withLock { $0.look(key) } }

  /// - Parameter condition: asked under the lock, so that nothing comes in that a removal should have kept out.
  /// - Returns: what had to go; nil when the value was not taken.
  func put(_ key: Key, _ value: Value, cost: Int, size: Int, if condition: () -> Bool = { true })
    -> [Evicted]?
  {
    part(key).shard.withLock { shard in
      guard condition() else { return nil }
      var evicted: [Evicted] = []
      return shard.put(key, value, cost: cost, size: size, evicted: &evicted) ? evicted : nil
    }
  }

  /// Puts a value in and tells whether it was taken.
  @discardableResult
  package func insert(_ key: Key, _ value: Value, cost: Int) -> Bool {
    put(key, value, cost: cost, size: cost) != nil
  }

  @discardableResult
  package func remove(_ key: Key) -> Value? { part(key).shard.withLock { $0.remove(key) } }

  /// Removes all entries that the condition is true of; goes through all of them.
  package func removeAll(where condition: (Key, Value) -> Bool) {
    for part in parts {
      part.shard.withLock { shard in
        for slot in shard.slots {
          if let value = slot.value, condition(slot.key, value) { _ = shard.remove(slot.key) }
        }
      }
    }
  }

  /// Lets go until no more than the part of the limits is used.
  package func trim(to share: Double) { _ = evict(to: share) }

  /// Lets go until no more than the part of the limits is used, and tells what went.
  func evict(to share: Double) -> [Evicted] {
    var evicted: [Evicted] = []
    for part in parts { part.shard.withLock { $0.trim(to: share, evicted: &evicted) } }
    return evicted
  }

  /// What was read since this was last asked, and when. Goes through all entries.
  func takeUses(_ body: (Key, Int64) -> Void) {
    for part in parts { part.shard.withLock { $0.takeUses(body) } }
  }

  package var count: Int { parts.reduce(0) { sum, part in sum + part.shard.withLock { $0.count } } }
  package var cost: Int { parts.reduce(0) { sum, part in sum + part.shard.withLock { $0.cost } } }

  /// How often values of each group were read, and how many bytes they had.
  var tally: [(count: Int, bytes: Int64)] {
    var sum: [(count: Int, bytes: Int64)] = []
    for part in parts {
      let tally = part.shard.withLock { $0.tally }
      while sum.count < tally.count { sum.append((0, 0)) }
      for (index, hits) in tally.enumerated() {
        sum[index].count += hits.count
        sum[index].bytes += hits.bytes
      }
    }
    return sum
  }

  private func part(_ key: Key) -> Guarded {
    if parts.count == 1 { return parts[0] }
    // The table takes the low bits of the hash; the part is chosen by the high ones.
    return parts[Int(UInt(bitPattern: key.hashValue) >> UInt(UInt.bitWidth - 8)) % parts.count]
  }
}
