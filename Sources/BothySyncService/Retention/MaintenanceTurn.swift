import BothyStore

/// One upkeep of one space: its time, its terms, and what its caller holds and has done.
///
/// `SyncService.upkeep` makes it. Only storages and their tests use it directly.
public struct MaintenanceTurn: Sendable, Hashable {
  /// The server's time, in milliseconds since 1970.
  public var time: Int64
  /// The time for which data is kept.
  public var terms: RetentionPolicy
  /// The lease that the caller holds, or `nil` for an upkeep that needs none.
  ///
  /// Without one, the upkeep happens even if another caller has taken the space.
  public var lease: Int64?
  /// The last collection of blobs, which the storage remembers; `nil` for a space without any.
  public var collection: BlobCollection?
  /// The number of tombstones, of departures and of notices that one transaction forgets.
  package var rows = SpaceRows.step

  /// Makes a turn for `ServerMaintenance.maintain`.
  public init(time: Int64, terms: RetentionPolicy, lease: Int64? = nil, collection: BlobCollection? = nil) {
    self.time = time
    self.terms = terms
    self.lease = lease
    self.collection = collection
  }

  /// The most outcomes that one upkeep forgets. The space stays due while there are more.
  ///
  /// It keeps the transaction short.
  public static let outcomeLimit = 10_000

  /// The longest time from one upkeep of a space to the next, if anything in the space gets too old later.
  static let longestWait = 91 * RetentionPolicy.day

  /// Returns the last time at which a space can be due, seen from `time`. An upkeep by a clock that was ahead sets
  /// later ones, and such a space is due at once.
  package static func lastDue(at time: Int64) -> Int64 {
    time.addingClamped(longestWait + RetentionPolicy.day)
  }

  /// The least time from this upkeep to the next.
  private var interval: Int64 { min(terms.interval, Self.longestWait) }

  /// The time since which devices count. Those with an older request are forgotten.
  public var devicesSince: Int64 { time - terms.tombstoneAge }

  /// The time since which outcomes are kept.
  public var outcomesSince: Int64 { time - terms.outcomeAge }

  /// Returns a time before that of the oldest outcome if others are too old after `count` were forgotten, as many as one
  /// upkeep forgets. Otherwise returns `nil`: only then the storage looks for the oldest among all that are left.
  package func oldestLeft(after count: Int, of state: UpkeepState) -> Int64? {
    count < Self.outcomeLimit ? nil : state.oldestOutcome ?? outcomesSince - 1
  }

  /// Returns what to do about a space in this state. Pure.
  ///
  /// The floor never falls. Of the last day one mark for each hour stays, and of the time before one for each day.
  public func plan(for state: UpkeepState) -> UpkeepPlan {
    var plan = UpkeepPlan(rest: time + interval)
    var marks = state.marks
    if state.head > marks.map(\.position).max() ?? 0 {
      let mark = HeadMark(at: time, position: state.head)
      plan.mark = mark
      marks.removeAll { $0.at == mark.at }
      marks.insert(mark, at: marks.firstIndex { $0.at > mark.at } ?? marks.endIndex)
    }
    let floor = Self.floor(
      old: marks.position(at: devicesSince), recent: marks.position(at: time - terms.acknowledgedAge),
      acknowledged: state.acknowledged)
    if floor > state.floor { plan.floor = floor }
    let kept = marks.thinned(at: time, keepingSince: devicesSince)
    plan.dropped = marks.ranges(without: kept)
    plan.next = next(state, kept, floor: max(floor, state.floor))
    plan.isPartial = hasOldOutcomes(state)
    return plan
  }

  /// Returns the position up to which tombstones may be forgotten. Pure.
  ///
  /// - Parameters:
  ///   - old: the head at the time when tombstones that are too old now were new.
  ///   - recent: the head at the time of tombstones that may be deleted after every device has them.
  ///   - acknowledged: the position that every device has; `nil` if the server knows no device.
  static func floor(old: Int64, recent: Int64, acknowledged: Int64?) -> Int64 {
    max(old, min(recent, acknowledged ?? 0))
  }

  /// True if more outcomes are too old than one upkeep forgets.
  private func hasOldOutcomes(_ state: UpkeepState) -> Bool {
    state.oldestOutcome.map { $0 < outcomesSince } ?? false
  }

  /// Returns the time at which the next thing in the space gets too old.
  ///
  /// If the floor waits for a device, that device's request or its silence makes the space due.
  private func next(_ state: UpkeepState, _ marks: [HeadMark], floor: Int64) -> Int64? {
    var times: [Int64] = []
    let waiting = marks.filter { $0.position > floor }
    if let first = waiting.first { times.append(first.at + terms.tombstoneAge) }
    if let acknowledged = state.acknowledged, acknowledged > floor,
      let first = waiting.first(where: { $0.at > time - terms.acknowledgedAge })
    {
      times.append(first.at + terms.acknowledgedAge)
    }
    if let oldest = state.oldestDevice { times.append(oldest + terms.tombstoneAge + 1) }
    if let oldest = state.oldestOutcome {
      if hasOldOutcomes(state) { return time }
      times.append(oldest + terms.outcomeAge + 1)
    }
    if let collection {
      if collection.head != state.head { times.append(collection.at + RetentionPolicy.day) }
      if let due = collection.due { times.append(due) }
    }
    return times.min().map { max(min($0, time + Self.longestWait), time + interval) }
  }
}
