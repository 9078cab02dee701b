public import struct Foundation.Date

/// When a record of a synced type was made and last edited, and by whom it was made.
///
/// Kept beside the fields. A change made here sets the times by the device's clock, corrected by the server's; once the
/// server has taken the change they are the server's, the same on every device. Sharing and what the server fills in do
/// not count as edits.
///
/// Queries name them `created`, `modified` and `owner`, where the type has no field of that name: see ``RecordField``.
public struct RecordMetadata: Sendable, Hashable {
  /// In milliseconds since 1970.
  package var createdTime: Int64?
  package var modifiedTime: Int64?
  /// The principal that made the record. Nil until the server has told of it, and where it knows none.
  public var owner: String?

  /// When the record was made. Nil where the server does not tell.
  public var created: Date? { createdTime.map { Timestamp(milliseconds: $0).date } }
  /// When the record was last edited or moved. Nil where the server does not tell.
  public var modified: Date? { modifiedTime.map { Timestamp(milliseconds: $0).date } }

  package init(created: Int64? = nil, modified: Int64? = nil, owner: String? = nil) {
    createdTime = created
    modifiedTime = modified
    self.owner = owner
  }

  /// Takes what is not known from `other`.
  package func filled(from other: RecordMetadata?) -> RecordMetadata {
    RecordMetadata(
      created: createdTime ?? other?.createdTime, modified: modifiedTime ?? other?.modifiedTime,
      owner: owner ?? other?.owner)
  }
}

/// Names for conditions and sort keys on a record's id and metadata:
///
/// ```swift
/// RecordQuery<Todo>().where(RecordField.modified > lastLaunch).order(RecordField.created.descending)
/// ```
///
/// A field of the type with the same name hides it.
public enum RecordField {
  /// The record's id.
  public static let id = Field<String>("id")
  /// When the record was made.
  public static let created = Field<Date?>("created")
  /// When the record was last edited or moved.
  public static let modified = Field<Date?>("modified")
  /// The principal that made the record.
  public static let owner = Field<String?>("owner")
}
