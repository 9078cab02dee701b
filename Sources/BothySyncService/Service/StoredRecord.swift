/// A record with the position of its last change.
///
/// A storage keeps one for each record, and none of its former states.
public struct StoredRecord: Sendable, Hashable {
  /// The position of the change in the space, unique within it.
  public var position: Int64
  /// The record after the change; a tombstone if it was deleted.
  ///
  /// Its version is the position as text.
  public var record: ServerRecord
  /// The former container of the record, if this change moves it. Storages receive it and never return it.
  ///
  /// They note a departure from it, for devices that pull that container alone.
  public var leaves: String?

  /// Makes a stored record, for the server and its storages.
  ///
  /// - Parameter leaves: the former container, if a change moves the record.
  public init(position: Int64, record: ServerRecord, leaves: String? = nil) {
    self.position = position
    self.record = record
    self.leaves = leaves
  }
}
