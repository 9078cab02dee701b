import GRDB

import struct Foundation.Date

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

  func migrate(_ step: Migration.Step, in database: Database) throws { throw refusal }

  func convert(
    _ field: String, of type: String, in database: Database, _ value: (JSONValue) throws -> JSONValue
  ) throws { throw refusal }

  func rename(_ type: String, from old: NameMap, to new: NameMap, in database: Database) throws {
    if old != new { throw refusal }
  }

  private var refusal: BothyError {
    BothyError(
      .readOnly,
      "The file \(path) is synced, and a plain Store changes it without the server's knowledge. Open it with "
        + "SyncedStore(at:schema:remote:) to write.")
  }
}
