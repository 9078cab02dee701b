import BothyStore
import GRDB

import struct Foundation.Data

/// Reading the changes of types whose readers a condition decides, by ids and by the indexes of fields.
extension SQLiteServerStorage {
  /// Adds the index of deleted records, which have no entries in indexes of fields.
  static func addDeletedIndex(to database: Database) throws {
    try database.execute(
      sql: "CREATE INDEX IF NOT EXISTS record_deleted ON record (space, type, position) WHERE deleted = 1")
  }
}

extension SQLiteServerTransaction {
  /// Adds the changes of a type that a filter's sight names.
  func addChosen(
    _ type: String, _ sight: ReadableSources, to merge: inout PositionMerge, after position: Int64,
    in scope: SyncScope
  ) throws {
    if !sight.ids.isEmpty {
      let ids = JSONValue.array(sight.ids.sorted().map { .string($0) }).canonicalText
      let select = try PreparedStatement(Self.byID(in: scope), in: database)
      select.bind(ids, at: 7)
      try add(to: &merge, select, type, after: position, in: scope)
    }
    for range in sight.ranges {
      let select = try PreparedStatement(Self.byField(in: scope), in: database)
      select.bind(range.index, at: 7)
      select.bind(Data(range.lower), at: 8)
      select.bind(Data(range.upper), at: 9)
      try add(to: &merge, select, type, after: position, in: scope)
    }
    guard !sight.ranges.isEmpty else { return }
    let select = try PreparedStatement(Self.deleted(in: scope), in: database)
    try add(to: &merge, select, type, after: position, in: scope)
  }

  // Parameters: those of the other sources, and from 7 on the ids, or a range of an index.
  private static let range = "record.position > ?4 AND record.position <= ?5"

  private static func byID(in scope: SyncScope) -> String {
    """
    SELECT position FROM record INDEXED BY record_id
    WHERE space = ?1 AND type = ?2 AND id IN (SELECT value FROM json_each(?7)) AND \(range) AND \(filter(scope))
    ORDER BY position LIMIT ?6
    """
  }

  private static func byField(in scope: SyncScope) -> String {
    """
    SELECT record.position FROM field_value
    CROSS JOIN record INDEXED BY record_id
      ON record.space = field_value.space AND record.type = ?2 AND record.id = field_value.id
    WHERE field_value.space = ?1 AND field_value.field = ?7 AND field_value.key >= ?8 AND field_value.key < ?9
      AND \(range) AND \(filter(scope))
    ORDER BY record.position LIMIT ?6
    """
  }

  private static func deleted(in scope: SyncScope) -> String {
    """
    SELECT position FROM record INDEXED BY record_deleted
    WHERE space = ?1 AND type = ?2 AND deleted = 1 AND \(range) AND \(filter(scope))
    ORDER BY position LIMIT ?6
    """
  }
}
