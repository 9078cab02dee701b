package import GRDB

import struct Foundation.Date

/// Receives every write in the transaction that makes it. The outbox implements it.
///
/// The store calls `record` inside the write transaction, in the order of the writes. It calls at the end, and earlier
/// whenever a thousand changes have gathered, so that memory stays bounded. An error rolls everything back. Writes
/// whose origin is `.remote` are not recorded.
package protocol ChangeRecorder: Sendable {
  /// The SQL that creates the recorder's own tables. Each statement is safe to run again.
  var tables: [String] { get }
  /// The names that columns of these tables had in earlier versions, by the present ones.
  var formerColumns: [String: String] { get }
  /// The time of a change made now, in milliseconds since 1970.
  var time: Int64 { get }
  /// Throws if the file may not be opened. Called in the transaction of the opening, before anything in it changes.
  func admit(_ database: Database) throws
  func record(_ changes: [Change], in transaction: WriteTransaction) throws
  /// Returns the value of a field after two edits of one person, who made both from the value `read`.
  func later(
    _ value: FieldValue, than earlier: FieldValue, readAs read: FieldValue, _ field: FieldSchema
  ) throws -> FieldValue
  /// Returns the values that the recorded changes of a record replaced.
  func former(of id: RecordID, in transaction: ReadTransaction) throws -> [FormerValues]
  /// Returns the latest time of the `FormerValues` of all recorded changes, or 0 without any.
  func latestTime(in database: Database) throws -> Int64
  /// Applies a declared migration step to the recorded changes.
  func migrate(_ step: Migration.Step, in database: Database) throws
  /// Converts a field in the recorded changes to its new kind. Null denotes a field without a value.
  func convert(
    _ field: String, of type: String, in database: Database, _ value: (JSONValue) throws -> JSONValue) throws
  /// Returns the ids of the records of a type that have recorded changes.
  func pending(of type: String, in database: Database) throws -> Set<String>
  /// Gives the fields of a type their new names in the recorded changes.
  func rename(_ type: String, from old: NameMap, to new: NameMap, in database: Database) throws
  /// Gives a container its new name in all that the recorder keeps.
  func rename(container: String, to name: String, in database: Database) throws
}

extension ChangeRecorder {
  package var formerColumns: [String: String] { [:] }

  /// Accepts every file.
  package func admit(_ database: Database) throws {}

  package func latestTime(in database: Database) throws -> Int64 { 0 }
}

/// The origin of a change.
package enum WriteOrigin: Sendable, Hashable {
  /// The app, on this device. Recorded and sent.
  case app
  /// The server. Applied, not recorded.
  case remote
}

/// A local change of one record of a synced type. Changes keep the order of the writes.
package struct Change: Sendable {
  package enum Kind: Sendable { case insert, update, delete }

  package let kind: Kind
  /// The position of the type in `LocalStore.tables`.
  package let table: Int
  package let id: String
  /// The row before the change, or nil for an insert.
  package var before: StoredRow?
  /// The update of fields, or nil for another change.
  package var update: Update?
  /// The base of the caller's value if others changed the same fields since, or nil.
  package var stale: Stale?
  /// The fields that the caller gave of a new record, nulls included. The others have their defaults. Nil if it gave all.
  package var given: [String: FieldValue]?

  package init(
    kind: Kind, table: Int, id: String, before: StoredRow?, update: Update? = nil, stale: Stale? = nil,
    given: [String: FieldValue]? = nil
  ) {
    (self.kind, self.table, self.id, self.before, self.stale) = (kind, table, id, before, stale)
    (self.update, self.given) = (update, given)
  }

  /// An update of fields.
  package struct Update: Sendable {
    /// The values after it.
    var values: [FieldValue]
    /// The reading of the value that was saved, or 0.
    var reading: Int64
  }

  /// The record as the caller read it, in the fields that both sides changed.
  package struct Stale: Sendable {
    /// A version that the server had before the changes of others.
    package var version: String
    /// The values of the fields at that version, by position.
    package var values: [Int: FieldValue]
    /// The version of the deletion, if others deleted the record.
    package var deletion: String?

    package init(version: String, values: [Int: FieldValue], deletion: String? = nil) {
      (self.version, self.values, self.deletion) = (version, values, deletion)
    }
  }
}

/// A stored row: its values in schema order and the data beside them.
package struct StoredRow: Sendable, Hashable {
  package var values: [FieldValue]
  /// The container, or nil for the type's own.
  package var container: String?
  package var version: String?
  package var unknownFields: String?
  /// The times and the owner. Nil parts keep their values in the row that this one replaces.
  package var metadata = RecordMetadata()

  /// All values by position.
  package var all: [Int: FieldValue] {
    Dictionary(uniqueKeysWithValues: values.enumerated().map { ($0, $1) })
  }

  package init(
    values: [FieldValue], container: String? = nil, version: String? = nil, unknownFields: String? = nil
  ) {
    self.values = values
    self.container = container
    self.version = version
    self.unknownFields = unknownFields
  }
}

/// Refuses the writes of a plain store to a synced file. Such changes never reach a server, and the next pull
/// overwrites them.
struct SyncedFileGuard: ChangeRecorder {
  private let path: String

  /// Creates the guard. Nil for a file that no synced store has opened.
  init?(_ database: Database, path: String?) throws {
    guard let path, try database.tableExists(ReplacedFields.table) else { return nil }
    self.path = path
  }

  var tables: [String] { [] }
  var time: Int64 { Timestamp(Date()).milliseconds }

  func record(_ changes: [Change], in transaction: WriteTransaction) throws { throw refusal }
  func later(
    _ value: FieldValue, than earlier: FieldValue, readAs read: FieldValue, _ field: FieldSchema
  ) throws -> FieldValue { throw refusal }

  func former(of id: RecordID, in transaction: ReadTransaction) throws -> [FormerValues] { [] }

  func migrate(_ step: Migration.Step, in database: Database) throws { throw refusal }

  func convert(
    _ field: String, of type: String, in database: Database, _ value: (JSONValue) throws -> JSONValue
  ) throws { throw refusal }

  func pending(of type: String, in database: Database) throws -> Set<String> { throw refusal }

  func rename(_ type: String, from old: NameMap, to new: NameMap, in database: Database) throws {
    if old != new { throw refusal }
  }

  func rename(container: String, to name: String, in database: Database) throws { throw refusal }

  private var refusal: BothyError {
    BothyError(
      .readOnly,
      "The file \(path) is synced, so a change by a plain store never reaches the server. Open it as a synced store "
        + "to write.")
  }
}
