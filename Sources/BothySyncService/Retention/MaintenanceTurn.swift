/// A space whose upkeep is due, taken by one caller for a limited time.
///
/// `ServerMaintenance.takeDue` returns it, and `SyncService.upkeep(_:_:)` takes it.
public struct DueSpace: Sendable, Hashable {
  /// The name of the space.
  public var space: String
  /// The time since which the upkeep is due, in milliseconds since 1970. A change after a long rest makes a space due
  /// since the end of its rest.
  public var since: Int64
  /// The end of the lease, in milliseconds since 1970. It identifies the lease, as no later one of the space has the
  /// same end.
  ///
  /// After it another caller may take the space. This one's upkeep then changes nothing.
  public var lease: Int64
  /// The head of the space when it was taken.
  public var head: Int64
  /// The last collection of blobs and secrets, or `nil` without one.
  public var collection: BlobCollection?

  /// Makes a taken space, for storages.
  public init(space: String, since: Int64, lease: Int64, head: Int64, collection: BlobCollection?) {
    self.space = space
    self.since = since
    self.lease = lease
    self.head = head
    self.collection = collection
  }
}

/// One collection of the blobs and secrets of a space.
///
/// The storage keeps the last one.
public struct BlobCollection: Sendable, Hashable {
  /// The time of the collection, in milliseconds since 1970.
  public var at: Int64
  /// The head up to which records were read, at least.
  public var head: Int64
  /// The time at which another collection is due without a change of records; `nil` for never.
  public var due: Int64?

  /// Makes a collection, for storages.
  public init(at: Int64, head: Int64, due: Int64? = nil) {
    self.at = at
    self.head = head
    self.due = due
  }
}

/// The head of a space at a time.
///
/// An upkeep adds one if the head has moved. Marks date tombstones by their positions.
public struct HeadMark: Sendable, Hashable {
  /// The time, in milliseconds since 1970.
  public var at: Int64
  /// The head at that time.
  public var position: Int64

  /// Makes a mark, for storages.
  public init(at: Int64, position: Int64) {
    self.at = at
    self.position = position
  }
}

/// The state of a space that decides what an upkeep does.
///
/// Storages read it in the transaction of the upkeep.
public struct UpkeepState: Sendable, Hashable {
  /// The position of the last change.
  public var head: Int64
  /// The position up to which tombstones were deleted.
  public var floor: Int64
  /// All marks of the space, the oldest first.
  public var marks: [HeadMark]
  /// The lowest position that devices since `MaintenanceTurn.devicesSince` have acknowledged; `nil` without such
  /// devices.
  ///
  /// One silent device holds it back.
  public var acknowledged: Int64?
  /// The time of the longest silent one of those devices.
  public var oldestDevice: Int64?
  /// The time of the oldest outcome, or of one before it; `nil` without outcomes.
  public var oldestOutcome: Int64?

  /// Makes a state, for storages.
  public init(
    head: Int64, floor: Int64, marks: [HeadMark], acknowledged: Int64? = nil, oldestDevice: Int64? = nil,
    oldestOutcome: Int64? = nil
  ) {
    self.head = head
    self.floor = floor
    self.marks = marks
    self.acknowledged = acknowledged
    self.oldestDevice = oldestDevice
    self.oldestOutcome = oldestOutcome
  }
}

/// The decisions of an upkeep about a space.
///
/// `MaintenanceTurn.plan(for:)` makes it, and storages carry it out in the same transaction.
public struct UpkeepPlan: Sendable, Hashable {
  /// The mark to add, in place of one at its time; `nil` if the head hasn't moved since the last one.
  public var mark: HeadMark?
  /// The times of the marks to delete, as ranges between those that stay.
  public var dropped: [ClosedRange<Int64>] = []
  /// The new floor; `nil` if it stays.
  public var floor: Int64?
  /// The time of the next upkeep; `nil` if only a change makes the space due.
  ///
  /// In milliseconds since 1970, like all times of a plan.
  public var next: Int64?
  /// The time before which no change makes the space due.
  public var rest: Int64
}

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

  /// The time since which devices count. Those with an older request are forgotten.
  public var devicesSince: Int64 { time - terms.tombstoneAge }

  /// The time since which outcomes are kept.
  public var outcomesSince: Int64 { time - terms.outcomeAge }

  /// Returns what to do about a space in this state. Pure.
  ///
  /// The floor never falls. Of the last day one mark for each hour stays, and of the time before one for each day.
  public func plan(for state: UpkeepState) -> UpkeepPlan {
    var plan = UpkeepPlan(rest: time + terms.interval)
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
      // More of them than one upkeep forgets are left.
      if oldest < outcomesSince { return time }
      times.append(oldest + terms.outcomeAge + 1)
    }
    if let collection {
      if collection.head != state.head { times.append(collection.at + RetentionPolicy.day) }
      if let due = collection.due { times.append(due) }
    }
    return times.min().map { max($0, time + terms.interval) }
  }
}

extension [HeadMark] {
  /// Returns the head at the last mark at or before `time`, or 0 without such a mark. The marks are in order.
  func position(at time: Int64) -> Int64 { last { $0.at <= time }?.position ?? 0 }

  /// Returns the marks to keep: the last of each hour of the last day, and the last of each day before. Of those at or
  /// before `oldest` it returns the last.
  ///
  /// With terms of n days these are at most n + 26 marks.
  func thinned(at time: Int64, keepingSince oldest: Int64) -> [HeadMark] {
    var kept: [HeadMark] = []
    var former: Period?
    for mark in reversed() {
      let period: Period =
        if mark.at <= oldest { .old } else if mark.at > time - RetentionPolicy.day {
          .hour(mark.at / RetentionPolicy.hour)
        } else {
          .day(mark.at / RetentionPolicy.day)
        }
      if period != former { kept.append(mark) }
      former = period
    }
    return kept.reversed()
  }

  private enum Period: Equatable {
    case old
    case day(Int64)
    case hour(Int64)
  }

  /// Returns the times of the marks that aren't in `kept`, as ranges without a kept mark. Both are in order.
  func ranges(without kept: [HeadMark]) -> [ClosedRange<Int64>] {
    let times = Set(kept.map(\.at))
    var found: [ClosedRange<Int64>] = []
    var isOpen = false
    for mark in self {
      if times.contains(mark.at) {
        isOpen = false
      } else {
        let start = isOpen ? found.removeLast().lowerBound : mark.at
        found.append(start...mark.at)
        isOpen = true
      }
    }
    return found
  }
}
