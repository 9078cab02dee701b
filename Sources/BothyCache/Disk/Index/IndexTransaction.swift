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
  let limits: DiskCache.Limits
  /// True if bodies are in the index and its files, and false if each entry is in a file of its own.
  let hasBodies: Bool
  let frames: FrameBook

  private(set) var rank: Int64 = 0
  /// The highest rank that the limits don't evict.
  var keptRank = Int64.min
  /// The bytes of the room that the store holds for removals.
  var held: Int64 = 0
  /// True if pages with little left in them are joined before the commit, which takes some room in the log.
  var joinsPages = true
  private(set) var count: Int64 = 0
  private(set) var bytes: Int64 = 0
  var folders: Int64 = 0
  /// The highest number that a page or a frame has had.
  private var last: Int64 = 0
  let hasPins: Bool
  /// The small bodies that this transaction has added, before they have a page.
  var gathered: GatheredPage?
  /// The files that were written for bodies which this transaction adds. They stay until the commit.
  var awaited: Set<BodyName> = []
  /// True if this transaction has noted files that nothing may name after the commit.
  var leavesFiles = false
  /// True for sources whose entries may be stored, of those that were looked up.
  var admitted: [SourceID: Bool] = [:]
  /// True if a source without entries has lost its id to another one.
  var replacesIdentity = false
  private var changes: [Int64: ResourceCache.Totals] = [:]
  private var numbers: [SourceID: Int64] = [:]
  private var ids: [Int64: SourceID] = [:]

  init(
    _ database: Database, _ sources: SourceBook, _ files: EntryFolder, _ limits: DiskCache.Limits,
    hasBodies: Bool, _ frames: FrameBook
  ) throws {
    self.database = database
    self.frames = frames
    self.sources = sources
    self.files = files
    self.limits = limits
    self.hasBodies = hasBodies
    let state = try PreparedStatement(
      "SELECT rank, count, bytes, folders, last, EXISTS (SELECT 1 FROM holder) FROM state", in: database)
    hasPins = try state.step() && state.int(at: 5) != 0
    rank = state.int(at: 0)
    count = state.int(at: 1)
    bytes = state.int(at: 2)
    folders = state.int(at: 3)
    last = state.int(at: 4)
    state.reset()
  }

  /// Writes the page of small bodies and the totals, directly before the commit.
  func finish() throws {
    try fold()
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
      "UPDATE state SET rank = ?1, count = ?2, bytes = ?3, folders = ?4, last = ?5", in: database)
    for (place, value) in [rank, count, bytes, folders, last].enumerated() {
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

  /// Returns the rank of an entry that replaces one of rank `old`: the next one, unless the limits don't evict `old`.
  func nextRank(replacing old: Int64?) -> Int64 {
    if let old, old <= keptRank { return old }
    return nextRank()
  }

  /// Continues the order of eviction of another index.
  func setRank(_ rank: Int64) { self.rank = max(self.rank, rank) }

  /// Returns a number that no page and no frame has had.
  func nextNumber() -> Int64 {
    last += 1
    return last
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
    let find = try PreparedStatement(
      "SELECT \(EntryRow.columns) FROM \(EntryRow.tables) WHERE e.id = ?1", in: database)
    find.bind(number, at: 1)
    defer { find.reset() }
    return try find.step() ? EntryRow(find) : nil
  }

  /// Returns the rows of all variants of a key.
  func rows(ofAllVariants number: Int64) throws -> [EntryRow] {
    let find = try PreparedStatement(
      "SELECT \(EntryRow.columns) FROM \(EntryRow.tables) WHERE e.id BETWEEN ?1 AND ?1 + 3", in: database)
    find.bind(KnownSource.base(number), at: 1)
    defer { find.reset() }
    var rows: [EntryRow] = []
    while try find.step() { rows.append(EntryRow(find)) }
    return rows
  }

  /// Inserts a new row, of an entry whose body has a row, or which is in a file of its own.
  /// - Parameter rank: the place in the order of eviction, or `nil` for the last.
  func insert(_ row: EntryRow, _ metadata: [UInt8], rank: Int64? = nil) throws {
    let insert = try PreparedStatement(
      "INSERT INTO entry VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)", in: database)
    insert.bind(row.number, at: 1)
    insert.bind(row.source, at: 2)
    insert.bind(row.name, at: 3)
    insert.bind(rank ?? nextRank(), at: 4)
    insert.bind(row.used, at: 5)
    insert.bind(row.isPinned ? 1 : 0, at: 6)
    insert.bind(row.bears ? 1 : 0, at: 7)
    insert.bind(row.body?.row, at: 8)
    insert.bind(row.frame, at: 9)
    insert.bind(row.body == nil ? row.own : nil, at: 10)
    insert.bind(Data(metadata), at: 11)
    try insert.run()
    tally(row, 1)
  }

  /// Deletes a row. Its file goes, and its body too if no other entry names it.
  /// - Parameter isReplaced: true if the key gets another entry in this transaction. Files then stay until the commit.
  func delete(_ row: EntryRow, keepingFile: Bool = false, isReplaced: Bool = false) throws {
    let delete = try PreparedStatement("DELETE FROM entry WHERE id = ?1", in: database)
    delete.bind(row.number, at: 1)
    try delete.run()
    tally(row, -1)
    if row.body != nil {
      if row.bears { try passOn(row, isReplaced: isReplaced) }
    } else if !keepingFile {
      let key = try key(of: row)
      if isReplaced {
        try noteLoose(key)
      } else {
        folders -= Int64(files.remove(files.path(key, sources.source(key.source))))
      }
    }
  }

  /// Adds a row to the totals, or subtracts it.
  func tally(_ row: EntryRow, _ sign: Int64) {
    var change = changes[row.source] ?? ResourceCache.Totals()
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
}
