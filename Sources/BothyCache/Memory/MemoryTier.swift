internal import Synchronization

/// Values in memory behind locks that are held for well under a microsecond.
///
/// All methods may be called from any thread and never wait for a disk or a network.
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

  /// Returns the value and records the read. `group` is a small number that names the counters to raise.
  ///
  /// - Parameter accepts: called under the lock. A value that it rejects isn't returned and does not count as read.
  package func read(_ key: Key, now: Int64, group: Int = 0, if accepts: (Value) -> Bool = { _ in true })
    -> Value?
  {
    part(key).shard.withLock { $0.read(key, now: now, group: group, if: accepts) }
  }

  /// Returns the value without recording a read.
  package func look(_ key: Key) -> Value? { part(key).shard.withLock { $0.look(key) } }

  /// Inserts or replaces a value.
  /// - Parameter condition: called under the lock, so that a removed entry isn't inserted after its removal.
  /// - Returns: the evicted entries, or `nil` if the value was not inserted.
  func put(_ key: Key, _ value: Value, cost: Int, size: Int, if condition: () -> Bool = { true })
    -> [Evicted]?
  {
    part(key).shard.withLock { shard in
      guard condition() else { return nil }
      var evicted: [Evicted] = []
      return shard.put(key, value, cost: cost, size: size, evicted: &evicted) ? evicted : nil
    }
  }

  /// Inserts a value. Returns true if it was accepted.
  @discardableResult
  package func insert(_ key: Key, _ value: Value, cost: Int) -> Bool {
    put(key, value, cost: cost, size: cost) != nil
  }

  @discardableResult
  package func remove(_ key: Key) -> Value? { part(key).shard.withLock { $0.remove(key) } }

  /// Removes all entries that meet the condition. Checks every entry.
  package func removeAll(where condition: (Key, Value) -> Bool) {
    for part in parts {
      part.shard.withLock { shard in
        for slot in shard.slots {
          if let value = slot.value, condition(slot.key, value) { _ = shard.remove(slot.key) }
        }
      }
    }
  }

  /// Evicts entries until the given part of the limits is left.
  package func trim(to share: Double) { _ = evict(to: share) }

  /// Evicts entries until the given part of the limits is left, and returns them.
  func evict(to share: Double) -> [Evicted] {
    var evicted: [Evicted] = []
    for part in parts { part.shard.withLock { $0.trim(to: share, evicted: &evicted) } }
    return evicted
  }

  /// Reports the entries that were read since the last call, with the times. Checks every entry.
  func takeUses(_ body: (Key, Int64) -> Void) {
    for part in parts { part.shard.withLock { $0.takeUses(body) } }
  }

  package var count: Int { parts.reduce(0) { sum, part in sum + part.shard.withLock { $0.count } } }
  package var cost: Int { parts.reduce(0) { sum, part in sum + part.shard.withLock { $0.cost } } }

  /// The number of reads of each group, and their bytes.
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
    // The table uses the low bits of the hash, and the shard is chosen by the high ones.
    return parts[Int(UInt(bitPattern: key.hashValue) >> UInt(UInt.bitWidth - 8)) % parts.count]
  }
}
