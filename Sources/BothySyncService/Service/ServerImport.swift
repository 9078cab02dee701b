import BothyStore

/// The result of an import of records.
///
/// Each record is counted once, in one of the four. Of several with one id only the last counts.
public struct ServerImport: Sendable, Hashable {
  /// The number of records that did not exist or were deleted.
  ///
  /// Imported tombstones count like records.
  public var inserted = 0
  /// The number of records that replaced other content with their id.
  ///
  /// Another owner, audience, container or time of change is other content too.
  public var updated = 0
  /// The number of records that existed with equal content. Nothing was written for them.
  ///
  /// A repeated import has all of its records here.
  public var unchanged = 0
  /// The records that were left out, with the reasons.
  ///
  /// The code is `invalid` for a value that is nested too deeply for devices. It is `invalidName` for a name that isn't
  /// in Unicode's normal form C. The others of the batch were stored.
  public var refused: [RecordID: Rejection] = [:]

  /// Makes an empty result, to add up those of several batches.
  public init() {}
}
