package import GRDB

/// Receives every write in the transaction that makes it. The outbox implements it.
///
/// The store calls `record` inside the write transaction, in the order of the writes. It calls at the end, and earlier
/// whenever a thousand changes have gathered, so that memory stays bounded. An error rolls everything back. Writes
/// whose origin is `.remote` are not recorded.
package protocol ChangeRecorder: Sendable {
  /// The SQL that creates the recorder's own tables. Each statement is safe to run again.
  var tables: [String] { get }
  /// The time of a change made now, in milliseconds since 1970.
  var time: Int64 { get }
  func record(_ changes: [Change], in transaction: WriteTransaction) throws
  /// Returns the value of a field after two edits of one person, who made both from the value `read`.
  func later(
    _ value: FieldValue, than earlier: FieldValue, readAs read: FieldValue, _ field: FieldSchema
  ) throws -> FieldValue
  /// Applies a declared migration step to the recorded changes.
  func migrate(_ step: Migration.Step, in database: Database) throws
  /// Converts a field in the recorded changes to its new kind. Null denotes a field without a value.
  func convert(
    _ field: String, of type: String, in database: Database, _ value: (JSONValue) throws -> JSONValue) throws
  /// Gives the fields of a type their new names in the recorded changes.
  func rename(_ type: String, from old: NameMap, to new: NameMap, in database: Database) throws
}

/// The origin of a change.
package enum WriteOrigin: Sendable, Hashable {
  /// The app, on this device. Recorded and sent.
  case app
  /// The server. Applied, not recorded.
  case remote
}
