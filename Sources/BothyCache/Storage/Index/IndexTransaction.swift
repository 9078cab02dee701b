internal import BothyStore
internal import Foundation
internal import GRDB

/// One write to the index: rows, and the totals, which change in one transaction.
///
/// Files of removed entries are deleted before the commit, and those of new entries receive their names after it. After
/// a crash, the index therefore counts every existing file with at least its size. It may count a missing file, and
/// such an entry isn't found.
final class IndexTransaction {
  let database: Database
  let sources: SourceBook
  let files: EntryFolder
  let limits: BlobStoreLimits
  let hasBodies: Bool

  private(set) var rank: Int64 = 0
  private(set) var count: Int64 = 0
  private(set) var bytes: Int64 = 0
  var folders: Int64 = 0
  let hasPins: Bool
  private var changes: [Int64: StoreTotals] = [:]
  private var numbers: [SourceID: Int64] = [:]
  private var ids: [Int64: SourceID] = [:]

  init(
    _ database: Database, _ sources: SourceBook, _ files: EntryFolder, _ limits: BlobStoreLimits,
    hasBodies: Bool
  )
    throws
  {
    self.database = database
    self.sources = sources
    self.files = files
    self.limits = limits
    self.hasBodies = hasBodies
    let state = try PreparedStatement(
      "SELECT rank, count, bytes, folders, EXISTS (SELECT 1 FROM holder) FROM state", in: database)
    hasPins = try state.step() && state.int(at: 4) != 0
    rank = state.int(at: 0)
    count = state.int(at: 1)
    bytes = state.int(at: 2)
    folders = state.int(at: 3)
    state.reset()
  }

  /// Writes the totals, directly before the commit.
  func finish() throws {
    for (source, change) in changes {
      let update = try PreparedStatement(
        """
        UPDATE source SET count = count + ?2, bytes = bytes + ?3, pinnedCount = pinnedCount + ?4,
          pinnedBytes = pinnedBytes + ?5 WHERE id = ?1
        """, in: database)
      update.bind(source, at: 1)
      update.bind(Int64(change.count), at: 2)
      update.bind(change.bytes, at: 3)
      update.bind(Int64(change.pinnedCount), at: 4)
      update.bind(change.pinnedBytes, at: 5)
      try update.run()
    }
    let state = try PreparedStatement(
      "UPDATE state SET rank = ?1, count = ?2, bytes = ?3, folders = ?4", in: database)
    for (place, value) in [rank, count, bytes, folders].enumerated() {
      state.bind(value, at: Int32(place) + 1)
    }
    try state.run()
  }

  /// Sets the totals of entries that are not pinned.
  func setTotals(count: Int64, bytes: Int64) {
    self.count = count
    self.bytes = bytes
  }

  func nextRank() -> Int64 {
    rank += 1
    return rank
  }

  // MARK: sources

  func number(of source: KnownSource) throws -> Int64 {
    if let number = numbers[source.id] { return number }
    let find = try PreparedStatement("SELECT id FROM source WHERE name = ?1", in: database)
    find.bind(utf8: source.name, at: 1)
    var number: Int64?
    if try find.step() { number = find.int(at: 0) }
    find.reset()
    if number == nil {
      let insert = try PreparedStatement("INSERT INTO source VALUES (NULL, ?1, 0, 0, 0, 0)", in: database)
      insert.bind(utf8: source.name, at: 1)
      try insert.run()
      number = database.lastInsertedRowID
    }
    numbers[source.id] = number
    return number ?? 0
  }

  func source(_ number: Int64) throws -> SourceID {
    if let id = ids[number] { return id }
    let find = try PreparedStatement("SELECT name FROM source WHERE id = ?1", in: database)
    find.bind(number, at: 1)
    guard try find.step() else {
      throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "a source has no name")
    }
    let id = SourceID(find.text(at: 0) ?? "")
    find.reset()
    ids[number] = id
    return id
  }

  func key(of row: EntryRow) throws -> ResourceKey {
    ResourceKey(try source(row.source), row.name, variant: KnownSource.variant(row.number))
  }

  // MARK: rows

  func row(_ number: Int64) throws -> EntryRow? {
    let find = try PreparedStatement("SELECT \(EntryRow.columns) FROM entry WHERE id = ?1", in: database)
    find.bind(number, at: 1)
    defer { find.reset() }
    return try find.step() ? EntryRow(find) : nil
  }

  /// Returns the rows of all variants of a key.
  func rows(ofAllVariants number: Int64) throws -> [EntryRow] {
    let find = try PreparedStatement(
      "SELECT \(EntryRow.columns) FROM entry WHERE id BETWEEN ?1 AND ?1 + 3", in: database)
    find.bind(KnownSource.base(number), at: 1)
    defer { find.reset() }
    var rows: [EntryRow] = []
    while try find.step() { rows.append(EntryRow(find)) }
    return rows
  }

  /// True if any holder has pinned the key. All its variants are pinned together.
  func isWanted(_ number: Int64) throws -> Bool {
    guard hasPins else { return false }
    let find = try PreparedStatement("SELECT 1 FROM pin WHERE entry = ?1 LIMIT 1", in: database)
    find.bind(KnownSource.base(number), at: 1)
    defer { find.reset() }
    return try find.step()
  }

  /// Inserts a new row.
  func insert(_ row: EntryRow, _ metadata: [UInt8]?) throws {
    let insert = try PreparedStatement(
      "INSERT INTO entry (\(EntryRow.columns), metadata) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
      in: database)
    insert.bind(row.number, at: 1)
    insert.bind(row.source, at: 2)
    insert.bind(row.name, at: 3)
    insert.bind(row.bytes, at: 4)
    insert.bind(nextRank(), at: 5)
    insert.bind(row.used, at: 6)
    insert.bind(row.received, at: 7)
    insert.bind(row.isPinned ? 1 : 0, at: 8)
    insert.bind(row.size, at: 9)
    insert.bind(Int64(bitPattern: row.checksum), at: 10)
    insert.bind(row.body, at: 11)
    if let metadata { insert.bind(Data(metadata), at: 12) } else { insert.bind(Int64?.none, at: 12) }
    try insert.run()
    tally(row, 1)
  }

  /// Deletes a row, its body and its file.
  func delete(_ row: EntryRow, keepingBody: Bool = false, keepingFile: Bool = false) throws {
    let delete = try PreparedStatement("DELETE FROM entry WHERE id = ?1", in: database)
    delete.bind(row.number, at: 1)
    try delete.run()
    tally(row, -1)
    if let body = row.body {
      if !keepingBody { try release(body) }
    } else if !keepingFile {
      let key = try key(of: row)
      folders -= Int64(files.remove(files.path(key, sources.source(key.source))))
    }
  }

  /// Adds a row to the totals, or subtracts it.
  func tally(_ row: EntryRow, _ sign: Int64) {
    var change = changes[row.source] ?? StoreTotals()
    change.count += Int(sign)
    change.bytes += sign * row.bytes
    if row.isPinned {
      change.pinnedCount += Int(sign)
      change.pinnedBytes += sign * row.bytes
    } else {
      count += sign
      bytes += sign * row.bytes
    }
    changes[row.source] = change
  }

  // MARK: bodies

  /// Finds or inserts the row of a body.
  func body(_ data: Data, _ checksum: UInt64) throws -> Int64 {
    if data.count <= 4096, let known = try sameBody(data, checksum) {
      let share = try PreparedStatement(
        "INSERT INTO shared VALUES (?1, 2) ON CONFLICT (body) DO UPDATE SET uses = uses + 1", in: database)
      share.bind(known, at: 1)
      try share.run()
      return known
    }
    let insert = try PreparedStatement("INSERT INTO body VALUES (NULL, ?1, ?2, ?3)", in: database)
    insert.bind(Int64(data.count), at: 1)
    insert.bind(Int64(bitPattern: checksum), at: 2)
    insert.bind(data, at: 3)
    try insert.run()
    return database.lastInsertedRowID
  }

  /// Finds a small body with equal bytes. Thousands of empty tiles have an equal body.
  private func sameBody(_ data: Data, _ checksum: UInt64) throws -> Int64? {
    let find = try PreparedStatement(
      "SELECT id, data FROM body WHERE checksum = ?1 AND size <= 4096", in: database)
    find.bind(Int64(bitPattern: checksum), at: 1)
    defer { find.reset() }
    while try find.step() {
      if find.blob(at: 1).elementsEqual(data) { return find.int(at: 0) }
    }
    return nil
  }

  func holds(_ body: Int64, _ data: Data) throws -> Bool {
    let find = try PreparedStatement("SELECT data FROM body WHERE id = ?1", in: database)
    find.bind(body, at: 1)
    defer { find.reset() }
    guard try find.step() else { return false }
    let bytes = find.blob(at: 0)
    return bytes.count == data.count
      && data.withUnsafeBytes { data in
        guard let one = data.baseAddress, let other = bytes.baseAddress else {
          return data.count == bytes.count
        }
        return memcmp(one, other, data.count) == 0
      }
  }

  private func release(_ body: Int64) throws {
    let share = try PreparedStatement("UPDATE shared SET uses = uses - 1 WHERE body = ?1", in: database)
    share.bind(body, at: 1)
    try share.run()
    if database.changedRows == 0 {
      let delete = try PreparedStatement("DELETE FROM body WHERE id = ?1", in: database)
      delete.bind(body, at: 1)
      try delete.run()
    } else {
      let end = try PreparedStatement("DELETE FROM shared WHERE body = ?1 AND uses = 1", in: database)
      end.bind(body, at: 1)
      try end.run()
    }
  }
}
