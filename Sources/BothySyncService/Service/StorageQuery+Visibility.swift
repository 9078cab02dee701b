import BothyStore

extension StorageQuery {
  /// Returns the SQL of the live records of a restricted type that a filter shows, without conditions on their fields.
  ///
  /// The plus sign keeps SQLite from reading the whole type by another index.
  static func visibleRows(
    of type: String, _ filter: VisibilityFilter, _ columns: String
  ) -> SQLFragment {
    let keys = JSONValue.array(filter.audienceKeys.map { .string($0) }).canonicalText
    return SQLFragment(
      """
      SELECT \(columns) FROM record WHERE space = ?1 AND +type = ? AND deleted = 0 AND position IN (
        SELECT position FROM record WHERE space = ?1 AND owner = ? AND type = ?
        UNION ALL
        SELECT position FROM audience
          WHERE space = ?1 AND type = ? AND name IN (SELECT value FROM json_each(?)))
      """,
      [.text(type), filter.owner.map { .text($0) } ?? .null, .text(type), .text(type), .text(keys)])
  }
}
