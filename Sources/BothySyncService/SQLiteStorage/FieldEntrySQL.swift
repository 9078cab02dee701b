import GRDB

/// The statements that read entries.
package enum FieldEntrySQL {
  package static let forward = """
    SELECT key, id FROM field_value WHERE space = ?1 AND field = ?2 AND (key, id) > (?3, ?4) AND key < ?5
    ORDER BY key, id LIMIT ?6
    """
  package static let backward = """
    SELECT key, id FROM field_value WHERE space = ?1 AND field = ?2 AND key >= ?3 AND key < ?4
    ORDER BY key DESC, id DESC LIMIT ?5
    """
  package static let count = """
    SELECT count(*) FROM (
      SELECT 1 FROM field_value WHERE space = ?1 AND field = ?2 AND key >= ?3 AND key < ?4 LIMIT ?5)
    """
}
