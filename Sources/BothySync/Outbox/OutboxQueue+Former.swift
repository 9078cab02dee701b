import BothyStore
import GRDB

/// The values that pending changes replaced, for the saves of other processes of the device. Each entry has those of its
/// own changes, and `ReplacedFields` those of entries that have ended.
extension OutboxQueue {
  func former(of id: RecordID, in transaction: ReadTransaction) throws -> [FormerValues] {
    try transaction.rows(
      """
      SELECT former FROM bothy_outbox WHERE type = ?1 AND id = ?2 AND former IS NOT NULL
      UNION ALL SELECT former FROM bothy_later WHERE type = ?1 AND id = ?2 AND former IS NOT NULL
      """, id
    ) { try FormerValues($0.bytes(at: 0)) }
  }

  func latestTime(in database: Database) throws -> Int64 {
    let time = try Int64.fetchOne(
      database,
      sql: """
        SELECT max(json_extract(change.value, '$[1]'))
        FROM (SELECT former FROM bothy_outbox WHERE json_valid(former)
            UNION ALL SELECT former FROM bothy_later WHERE json_valid(former)) AS kept,
          json_each(kept.former) AS field, json_each(field.value) AS change
        """)
    return time ?? 0
  }

  /// Adds what a row had before it showed a hidden save to the save's entry.
  ///
  /// - Parameter before: the row, or `nil` if there was none.
  static func addFormer(
    to entry: Outbox.Entry, over before: StoredRow?, shown: StoredRow, _ table: TypeTable,
    in transaction: WriteTransaction
  ) throws {
    guard let before else { return }
    let former = FormerValues(revealing: entry.id, over: before, shown: shown, table, in: transaction)
    try update(entry, "SET former = ?4", former.added(to: entry.former), in: transaction)
  }

  /// Keeps the values that an ending entry has, because values that were read before may still be saved.
  static func keepFormer(of entry: Outbox.Entry, in transaction: WriteTransaction) throws {
    guard let former = entry.former, entry.change != .delete else { return }
    try ReplacedFields.keep(
      former: former, transaction.catalog.table(entry.id.type), id: entry.id.id, in: transaction)
  }
}
