import BothyStore

/// A storage's notes of unique values.
///
/// A note may be out of date, so the server looks at each record.
public struct UniqueHolders: Sendable, Hashable {
  /// The position of the space's changes up to which they are noted; 0 without notes.
  public var position: Int64
  /// The records by value. A value without a record is left out.
  public var records: [UniqueFieldValue: Set<RecordID>]

  /// Makes notes, for storages.
  public init(position: Int64, records: [UniqueFieldValue: Set<RecordID>] = [:]) {
    self.position = position
    self.records = records
  }
}
