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
