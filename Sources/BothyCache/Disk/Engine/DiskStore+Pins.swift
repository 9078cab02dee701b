internal import BothyStore
internal import Foundation
internal import GRDB

/// The pins of holders, whose rows have up to 64 keys each.
extension DiskStore {
  package func isPinned(_ key: ResourceKey) throws -> Bool {
    try isPinned(key, "SELECT 1 FROM pin p WHERE p.block = ?1 AND p.mask & ?2 <> 0 LIMIT 1", nil)
  }

  func isPinned(_ key: ResourceKey, besides holder: String) throws -> Bool {
    try isPinned(
      key,
      """
      SELECT 1 FROM pin p JOIN holder h ON h.id = p.holder
      WHERE p.block = ?1 AND p.mask & ?2 <> 0 AND h.name <> ?3 LIMIT 1
      """, holder)
  }

  private func isPinned(_ key: ResourceKey, _ sql: String, _ holder: String?) throws -> Bool {
    let number = sources.source(key.source).number(of: key.base)
    return try read { database in
      let find = try PreparedStatement(sql, in: database)
      find.bind(KnownSource.block(number), at: 1)
      find.bind(KnownSource.bit(number), at: 2)
      if let holder { find.bind(holder, at: 3) }
      defer { find.reset() }
      return try find.step()
    } ?? false
  }

  package func forEachPin(
    by holder: String?, _ body: (_ key: ResourceKey, _ holder: String, _ bytes: Int64?) throws -> Void
  ) throws {
    var last: (holder: Int64, block: Int64) = (.min, .min)
    while true {
      let page = try read { database in
        var page: [StoredPin] = []
        let select = try PreparedStatement(
          """
          SELECT p.holder, p.block, h.name, s.name, p.name, p.mask
          FROM pin p JOIN holder h ON h.id = p.holder JOIN source s ON s.id = p.source
          WHERE (p.holder, p.block) > (?1, ?2) AND (?3 IS NULL OR h.name = ?3) ORDER BY p.holder, p.block LIMIT 16
          """, in: database)
        defer { select.reset() }
        select.bind(last.holder, at: 1)
        select.bind(last.block, at: 2)
        if let holder { select.bind(holder, at: 3) } else { select.bind(Int64?.none, at: 3) }
        while try select.step() {
          last = (select.int(at: 0), select.int(at: 1))
          let source = SourceID(select.text(at: 3) ?? "")
          let (name, holder) = (select.name(at: 4), select.text(at: 2) ?? "")
          for place in KnownSource.places(of: select.int(at: 5)) {
            let number = last.block | Int64(place) << 2
            page.append(
              StoredPin(
                key: ResourceKey(source, KnownSource.name(name, at: place)), holder: holder,
                bytes: try Self.bytes(ofAllVariants: number, in: database)))
          }
        }
        return page
      }
      guard let page, !page.isEmpty else { return }
      for pin in page { try body(pin.key, pin.holder, pin.bytes) }
    }
  }

  /// Returns the counted bytes of all variants of a key, or `nil` if none is stored.
  private static func bytes(ofAllVariants number: Int64, in database: Database) throws -> Int64? {
    let sum = try PreparedStatement(
      "SELECT sum(\(EntryRow.counted)) FROM \(EntryRow.tables) WHERE e.id BETWEEN ?1 AND ?1 + 3", in: database
    )
    sum.bind(number, at: 1)
    defer { sum.reset() }
    return try sum.step() ? sum.optionalInt(at: 0) : nil
  }

  func totals(heldBy holder: String) throws -> ResourceCache.Totals {
    try read { database in
      let select = try PreparedStatement(
        """
        SELECT count(*), ifnull(sum(\(EntryRow.counted)), 0) FROM holder h JOIN pin p ON p.holder = h.id
        JOIN entry e ON e.id BETWEEN p.block AND p.block + 255 AND p.mask >> (e.id >> 2 & 63) & 1 = 1
        LEFT JOIN body b ON b.id = e.body WHERE h.name = ?1
        """, in: database)
      select.bind(holder, at: 1)
      defer { select.reset() }
      var totals = ResourceCache.Totals()
      guard try select.step() else { return totals }
      totals.count = Int(select.int(at: 0))
      totals.bytes = select.int(at: 1)
      (totals.pinnedCount, totals.pinnedBytes) = (totals.count, totals.bytes)
      return totals
    } ?? ResourceCache.Totals()
  }

  func pinHolders() throws -> [String] {
    try read { try String.fetchAll($0, sql: "SELECT name FROM holder ORDER BY name") } ?? []
  }

  func pinCount(by holder: String) throws -> Int {
    try read { database in
      try Int64.fetchAll(
        database, sql: "SELECT p.mask FROM holder h JOIN pin p ON p.holder = h.id WHERE h.name = ?",
        arguments: [holder]
      ).reduce(0) { $0 + $1.nonzeroBitCount }
    } ?? 0
  }
}
