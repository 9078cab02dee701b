internal import GRDB
internal import Synchronization

/// The packing of the table of entries, whose rows come in no order.
///
/// Their numbers are hashes, so a table that has grown is two thirds full. A rewritten one is full.
extension DiskStore {
  /// The most entries of a table that is rewritten. More would hold the lock for longer than a fifth of a second.
  static let mostPacked: Int64 = 1 << 16
  /// The fewest changed entries that are worth the work. A table with fewer has some pages only.
  static let leastPacked: Int64 = 256

  /// Rewrites the table of entries in the order of its numbers, if an eighth of it has changed.
  ///
  /// Costs one transaction, which reads and writes some 60 bytes for each entry and no body. Does nothing in a large
  /// table, on a full disk, and in a store of files.
  package func pack() throws {
    let changed = unpacked.load(ordering: .relaxed)
    guard layout == .pages, changed >= Self.leastPacked, try !opened().isReadOnly else { return }
    try lock.writing {
      let count = try read(isLocked: true) { try Int64.fetchOne($0, sql: "SELECT sum(count) FROM source") }
      guard let count, count <= Self.mostPacked, changed >= count / 8 else { return }
      do {
        try write { try $0.packEntries() }
        try returnEmptyPages()
      } catch let error where DiskError.isDiskFull(error) {
        return
      }
      _ = unpacked.subtract(changed, ordering: .relaxed)
    }
  }
}

extension IndexTransaction {
  /// Rewrites all entries in the order of their numbers, and their indexes.
  func packEntries() throws {
    try database.execute(
      sql: """
        DROP TABLE IF EXISTS temp.packed;
        CREATE TEMP TABLE packed AS SELECT * FROM main.entry ORDER BY id;
        DELETE FROM main.entry;
        INSERT INTO main.entry SELECT * FROM temp.packed ORDER BY rowid;
        DROP TABLE temp.packed;
        REINDEX main.entry_rank; REINDEX main.entry_sharing; REINDEX main.body_checksum;
        """)
  }
}
