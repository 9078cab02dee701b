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
