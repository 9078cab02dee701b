/// Who waits for which load, as a pure table: at most one load for each key, whatever comes and goes.
///
/// A load that everybody left is called off but keeps its place until it has ended: whoever comes meanwhile gets its
/// result if it still had one, else starts the next. So there are never two requests for one key.
struct FlightTable<Key: Hashable & Sendable>: ~Copyable {
  private struct Entry {
    var flight: Int
    var isCalledOff = false
    var waiters: [Int: LoadPriority] = [:]

    var priority: LoadPriority? { waiters.values.max() }
  }

  private var entries: [Key: Entry] = [:]
  private var nextFlight = 0

  enum Joining: Equatable {
    /// The caller is the first: its work is to be started.
    case start(flight: Int)
    /// A load is under way, which has this priority from now on.
    case join(flight: Int, LoadPriority)
    /// A load that was called off is still ending: its result, or a new load, comes after it.
    case queue(behind: Int)
  }

  enum Leaving: Equatable {
    case nothing
    /// Others still wait; the load has this priority now.
    case settle(flight: Int, LoadPriority)
    /// Nobody waits any more.
    case callOff(flight: Int)
  }

  enum Landing: Equatable {
    /// The result is for these waiters; none of them is left in the table.
    case deliver([Int])
    /// The load had been called off and came to nothing, but others wait by now: one of them starts the next.
    case restart(flight: Int, LoadPriority, waiters: [Int])
    case nothing
  }

  var flightCount: Int { entries.count }

  /// How many wait for the key; 0 when nothing is under way.
  func waiterCount(_ key: Key) -> Int { entries[key]?.waiters.count ?? 0 }

  mutating func join(_ key: Key, waiter: Int, _ priority: LoadPriority) -> Joining {
    guard var entry = entries[key] else {
      nextFlight += 1
      entries[key] = Entry(flight: nextFlight, waiters: [waiter: priority])
      return .start(flight: nextFlight)
    }
    entry.waiters[waiter] = priority
    entries[key] = entry
    if entry.isCalledOff { return .queue(behind: entry.flight) }
    return .join(flight: entry.flight, entry.priority ?? priority)
  }

  mutating func leave(_ key: Key, waiter: Int) -> Leaving {
    guard var entry = entries[key], entry.waiters.removeValue(forKey: waiter) != nil else { return .nothing }
    defer { entries[key] = entry }
    if entry.isCalledOff { return .nothing }
    if let priority = entry.priority { return .settle(flight: entry.flight, priority) }
    entry.isCalledOff = true
    return .callOff(flight: entry.flight)
  }

  /// A load has ended. `cameToNothing`: it ended because it was called off.
  mutating func land(_ key: Key, flight: Int, cameToNothing: Bool) -> Landing {
    guard let entry = entries[key], entry.flight == flight else { return .nothing }
    guard entry.isCalledOff, cameToNothing, let priority = entry.priority else {
      entries[key] = nil
      return .deliver(entry.waiters.keys.sorted())
    }
    nextFlight += 1
    entries[key] = Entry(flight: nextFlight, waiters: entry.waiters)
    return .restart(flight: nextFlight, priority, waiters: entry.waiters.keys.sorted())
  }
}
