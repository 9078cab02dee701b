/// The callers that wait for each load, as a pure table with at most one load for each key.
///
/// A load without callers is cancelled but keeps its place until it has ended. A caller that joins in that time
/// receives its result if it still had one, else starts the next load. Two requests for one key never run at the same
/// time.
struct InFlightTable<Key: Hashable & Sendable>: ~Copyable {
  private struct Entry {
    var number: Int
    var isCalledOff = false
    var waiters: [Int: ResourceCache.Priority] = [:]

    var priority: ResourceCache.Priority? { waiters.values.max() }
  }

  private var entries: [Key: Entry] = [:]
  private var nextNumber = 0

  enum Joining: Equatable {
    /// The caller is the first, and its work must be started.
    case start(number: Int)
    /// A load is running and now has this priority, the highest of its callers.
    case join(number: Int, ResourceCache.Priority)
    /// A cancelled load is still ending. Its result or a new load follows it.
    case queue(behind: Int)
  }

  enum Leaving: Equatable {
    case nothing
    /// Other callers still wait, and the load now has this priority.
    case settle(number: Int, ResourceCache.Priority)
    /// No caller waits for the load, so cancel it. It keeps its place until it has ended.
    case callOff(number: Int)
  }

  enum Landing: Equatable {
    /// The result is for these callers, which are no longer in the table.
    case deliver([Int])
    /// The load was cancelled and has no result, but other callers wait now. One of them starts the next load.
    case restart(number: Int, ResourceCache.Priority, waiters: [Int])
    case nothing
  }

  var count: Int { entries.count }

  /// Returns the number of callers that wait for the key, or 0 if no load is running.
  func waiterCount(_ key: Key) -> Int { entries[key]?.waiters.count ?? 0 }

  mutating func join(_ key: Key, waiter: Int, _ priority: ResourceCache.Priority) -> Joining {
    guard var entry = entries[key] else {
      nextNumber += 1
      entries[key] = Entry(number: nextNumber, waiters: [waiter: priority])
      return .start(number: nextNumber)
    }
    entry.waiters[waiter] = priority
    entries[key] = entry
    if entry.isCalledOff { return .queue(behind: entry.number) }
    return .join(number: entry.number, entry.priority ?? priority)
  }

  mutating func leave(_ key: Key, waiter: Int) -> Leaving {
    guard var entry = entries[key], entry.waiters.removeValue(forKey: waiter) != nil else { return .nothing }
    defer { entries[key] = entry }
    if entry.isCalledOff { return .nothing }
    if let priority = entry.priority { return .settle(number: entry.number, priority) }
    entry.isCalledOff = true
    return .callOff(number: entry.number)
  }

  /// Ends a load. `cameToNothing` is true if it ended because it was cancelled.
  mutating func land(_ key: Key, number: Int, cameToNothing: Bool) -> Landing {
    guard let entry = entries[key], entry.number == number else { return .nothing }
    guard entry.isCalledOff, cameToNothing, let priority = entry.priority else {
      entries[key] = nil
      return .deliver(entry.waiters.keys.sorted())
    }
    nextNumber += 1
    entries[key] = Entry(number: nextNumber, waiters: entry.waiters)
    return .restart(number: nextNumber, priority, waiters: entry.waiters.keys.sorted())
  }
}
