package import struct Foundation.Date

/// The times at which a record of a synced type was created and last edited, and its owner.
///
/// Stored beside the fields. A local change sets the times by the device's clock, corrected by the server's. Once the
/// server has accepted the change, they are the server's, equal on every device. Changes of the audience and fields
/// that the server fills in don't count as edits.
///
/// Queries name them `created`, `modified` and `owner`, unless the type has a field of that name:
///
/// ```swift
/// let lastLaunch = Date(timeIntervalSinceNow: -86_400)
/// let modified = Field<Date?>("modified")
/// let recent = Todo.where { _ in modified > lastLaunch }.order { _ in modified.descending }
/// ```
package struct RecordMetadata: Sendable, Hashable {
  /// In milliseconds since 1970.
  package var createdTime: Int64?
  package var modifiedTime: Int64?
  /// The user that created the record. Nil until the server has sent it, or if it knows none.
  package var owner: String?

  /// The time at which the record was created. Nil if the server doesn't send it.
  package var created: Date? { createdTime.map { Timestamp(milliseconds: $0).date } }
  /// The time at which the record was last edited or moved. Nil if the server doesn't send it.
  package var modified: Date? { modifiedTime.map { Timestamp(milliseconds: $0).date } }

  package init(created: Int64? = nil, modified: Int64? = nil, owner: String? = nil) {
    createdTime = created
    modifiedTime = modified
    self.owner = owner
  }

  /// Returns the metadata with its missing parts filled from `other`.
  package func filled(from other: RecordMetadata?) -> RecordMetadata {
    RecordMetadata(
      created: createdTime ?? other?.createdTime, modified: modifiedTime ?? other?.modifiedTime,
      owner: owner ?? other?.owner)
  }
}
