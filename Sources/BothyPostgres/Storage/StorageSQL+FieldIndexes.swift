/// The statements of the entries of indexes of fields.
extension StorageSQL {
  static let moveHeadAndIndexes =
    "UPDATE space SET head = $2, indexed = $2, \(dueByChange) WHERE space = $1"
  static let setFieldIndexes = "UPDATE space SET indexes = $2, indexed = $3 WHERE space = $1"

  static let entriesForward = """
    SELECT key, id FROM field_value WHERE space = $1 AND field = $2 AND (key, id) > ($3, $4) AND key < $5
    ORDER BY key, id LIMIT $6
    """
  static let entriesBackward = """
    SELECT key, id FROM field_value WHERE space = $1 AND field = $2 AND key >= $3 AND key < $4
    ORDER BY key DESC, id DESC LIMIT $5
    """
  static let entryCount = """
    SELECT count(*) FROM (
      SELECT 1 FROM field_value WHERE space = $1 AND field = $2 AND key >= $3 AND key < $4 LIMIT $5) AS found
    """
  static let noteEntries = RowInsert(
    into: "field_value", ["field", "key", "id"], onConflict: "(space, field, key, id) DO NOTHING")

  /// The deletion of a number of entries, as `VALUES` for the reasons of `RowInsert`.
  static let forgetEntries: [Int: String] = {
    let pairs = RowInsert.sizes.map { size in
      let rows = (0..<size).map { row in
        "($\(3 * row + 2)::bigint, $\(3 * row + 3)::bytea, $\(3 * row + 4)::text)"
      }
      let list = rows.joined(separator: ", ")
      return (size, "DELETE FROM field_value WHERE space = $1 AND (field, key, id) IN (VALUES \(list))")
    }
    return Dictionary(pairs, uniquingKeysWith: { $1 })
  }()

  static let fieldIndexes =
    [moveHeadAndIndexes, setFieldIndexes, entriesForward, entriesBackward, entryCount]
    + forgetEntries.values
}
