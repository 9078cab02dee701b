/// The content of a space, in numbers.
///
/// They are of one moment. A missing space has an empty epoch. Of a space with more than a million records, outcomes or
/// positions of devices, a million of these are counted.
public struct SpaceStatistics: Sendable, Hashable {
  /// The name of the space.
  public var space: String
  /// The mark of its present history. `startEpoch` changes it.
  ///
  /// Empty for a missing space.
  public var epoch: String
  /// The position of the last change.
  ///
  /// It rises with each change, and skips 2^32 numbers with each `startEpoch`.
  public var head: Int64
  /// The position up to which tombstones may be deleted.
  ///
  /// Devices with a cursor below it pull everything again.
  public var floor: Int64
  /// The number of live records, including lists.
  public var records = 0
  /// The number of remembered deletions.
  ///
  /// An upkeep deletes them by `RetentionPolicy`, and `compact` at once.
  public var tombstones = 0
  /// The number of containers with a live record.
  public var containers = 0
  /// The bytes of the live records' fields.
  ///
  /// Their JSON is measured, without ids, indexes and blobs. The file is larger.
  public var bytes: Int64 = 0
  /// The number of remembered outcomes of operations.
  ///
  /// An upkeep deletes them by their age, and a request of their device earlier.
  public var outcomes = 0
  /// The number of devices that reported their position.
  ///
  /// Those that were silent for `RetentionPolicy.tombstoneAge` are forgotten.
  public var devices = 0
  /// True if the space has at least as much as the numbers say, because it is too large to count.
  package var isPartial = false

  /// The most rows of a kind that are counted. A database has seconds for that, and ends a statement after a minute.
  package static let limit = 1_000_000

  /// Makes statistics with all numbers 0, which storages fill in.
  public init(space: String, epoch: String, head: Int64, floor: Int64) {
    self.space = space
    self.epoch = epoch
    self.head = head
    self.floor = floor
  }
}
