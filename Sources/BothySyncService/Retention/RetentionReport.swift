/// The effect of one upkeep of a space.
///
/// A report with `nil` and zeros means that nothing was too old.
public struct RetentionReport: Sendable, Hashable {
  /// The new floor, if it was moved.
  ///
  /// Tombstones up to it are forgotten.
  public var floor: Int64?
  /// The number of forgotten outcomes of operations.
  ///
  /// A turn forgets at most `MaintenanceTurn.outcomeLimit`. The space stays due if there are more.
  public var outcomes = 0
  /// The number of deleted blobs.
  ///
  /// 0 also if the upkeep collected none.
  public var blobs = 0
  /// True if something that is too old is left, because it is much. The space stays due.
  package var isPartial = false
  /// The position up to which tombstones are too old, if one transaction didn't forget all of them.
  package var wantedFloor: Int64?

  /// Makes a report, for storages.
  public init(floor: Int64? = nil, outcomes: Int = 0, blobs: Int = 0) {
    self.floor = floor
    self.outcomes = outcomes
    self.blobs = blobs
  }
}
