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
  /// True if something that is too old is left for the next upkeep. The space stays due.
  package var isPartial = false
  /// The floor without the limit of one transaction, if that lowered it.
  package private(set) var wantedFloor: Int64?

  /// Lowers the new floor to a position up to which one transaction forgets, so that the space stays due at `time`.
  package mutating func stop(at position: Int64, time: Int64) {
    guard let floor, position < floor else { return }
    (self.floor, wantedFloor) = (position, floor)
    next = time
    isPartial = true
  }
}
