package import GRDB

/// The seam to whoever must know of every write in the transaction that makes it: the outbox.
///
/// The store calls `record` inside the write transaction, in the order of the writes: at its end, and before
/// that whenever a thousand changes have gathered, so that memory stays bounded. A throw rolls everything back.
/// Writes whose origin is `.remote` are not recorded.
package protocol ChangeRecorder: Sendable {
  /// SQL that makes the recorder's own tables, each statement safe to run again.
  var tables: [String] { get }
  /// The time of a change that is made now, in milliseconds since 1970.
  var time: Int64 { get }
  func record(_ changes: [Change], in transaction: WriteTransaction) throws
  /// Carries a declared migration step into what was recorded.
  func migrate(_ step: Migration.Step, in database: Database) throws
  /// Gives a field the values of its new kind in what was recorded; null stands for a field without a value.
  func convert(
    _ field: String, of type: String, in database: Database, _ value: (JSONValue) throws -> JSONValue) throws
  /// Gives the fields of what was recorded of a type the names that they have from now on.
  func rename(_ type: String, from old: NameMap, to new: NameMap, in database: Database) throws
}

/// Who makes a change.
public enum WriteOrigin: Sendable, Hashable {
  /// The app, on this device: recorded, to be sent.
  case app
  /// A server's answer: applied, not recorded.
  case remote
}
