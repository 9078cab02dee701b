internal import BothyStore
internal import Foundation
internal import GRDB

/// The transfer of readable entries and pins from a quarantined index into its replacement.
extension DiskStore {
  /// The number of entries that are copied in one transaction.
  private static let copiedAtOnce = 64

  /// Copies the readable pins and entries of the last quarantined file. Call it with the lock held.
  ///
  /// Entries in files of their own aren't copied. No limit is enforced.
  func salvage(into index: IndexFile) throws -> Salvaged {
    guard let place = lastPutAway() else { return Salvaged(origin: .damaged) }
    let origin: Salvaged.Origin = place == newerPlace ? .newer : .damaged
    guard let old = QuarantinedIndex(place, sources) else { return Salvaged(origin: origin) }
    defer { old.close() }
    var salvaged = try copy(old, origin, into: index)
    salvaged.isLast = markedPlace != nil
    return salvaged
  }

  /// Copies the readable pins and entries of an index, except entries in files of their own and those of a source whose
  /// id another source has by now.
  func copy(_ old: QuarantinedIndex, _ origin: Salvaged.Origin, into index: IndexFile) throws -> Salvaged {
    var salvaged = Salvaged(origin: origin)
    var replaced: Set<SourceID> = []
    let identities = old.identities()
    try change(index) { transaction in
      for (source, identity) in identities where try !transaction.restore(identity, of: source) {
        replaced.insert(source)
      }
    }
    let pins = old.pins()
    for part in pins.found.parts(of: 512) {
      try change(index) { transaction in
        for pin in part { try transaction.pin(pin.key, transaction.holder(pin.holder)) }
      }
    }
    let listed = old.numbers()
    for part in listed.found.parts(of: Self.copiedAtOnce) {
      var inRows: [QuarantinedIndex.Entry] = []
      for number in part {
        guard let entry = old.entry(number, files), try origin == .damaged || isReadable(entry) else {
          salvaged.unread += 1
          continue
        }
        salvaged.rows.append(number)
        if replaced.contains(entry.key.source) { continue }
        if entry.body == nil {
          salvaged.inFiles.append((entry.key, entry.number, entry.isPinned))
        } else {
          inRows.append(entry)
        }
      }
      if inRows.isEmpty { continue }
      try change(index) { transaction in
        for entry in inRows {
          var entry = entry
          entry.rank = transaction.nextRank()
          // A holder may have given up its pin while the index was aside.
          if origin == .waiting { entry.isPinned = false }
          try transaction.restore(entry)
        }
      }
    }
    salvaged.pins = pins.rows
    salvaged.hasAllPins = pins.isWhole
    salvaged.hasAllRows = listed.isWhole && salvaged.unread == 0
    salvaged.knowsTables = old.hasKnownTables
    return salvaged
  }

  /// True if an entry's bytes were read, or if its own file can be read or has gone.
  private func isReadable(_ entry: QuarantinedIndex.Entry) throws -> Bool {
    guard entry.body == nil else { return true }
    let path = files.path(entry.key, sources.source(entry.key.source))
    return try files.describe(path, sources) != nil || FileBytes.size(path.pathText) == nil
  }

  /// Runs a transaction on an index that isn't in use yet.
  func change(_ index: IndexFile, _ body: (IndexTransaction) throws -> Void) throws {
    try index.write { database in
      let transaction = try IndexTransaction(
        database, sources, files, limits, hasBodies: layout == .pages, index.frames)
      try body(transaction)
      try transaction.finish()
    }
  }
}

extension IndexTransaction {
  /// Inserts an entry of another index, unless one exists. It stays pinned.
  func restore(_ old: QuarantinedIndex.Entry) throws {
    guard try row(old.number) == nil else { return }
    setRank(old.rank)
    let source = sources.source(old.key.source)
    var row = EntryRow(
      number: old.number, source: try number(of: source), name: old.key.name,
      isPinned: try old.isPinned || isWanted(old.number), own: old.bytes, size: old.size,
      checksum: old.checksum)
    row.used = old.used
    guard let body = old.body, let metadata = old.metadata else {
      let note = FileNote(size: old.size, checksum: old.checksum, receivedAt: old.receivedAt)
      return try insert(row, note.bytes, rank: old.rank)
    }
    let known = try knownBody(body, old.checksum)
    row.body = try known ?? addBody(body, old.checksum, isFile: old.isFile)
    row.bears = known == nil
    let bytes = try settle(RowMetadata.Form(metadata, seed: source.seed(old.checksum)), &row)
    try insert(row, bytes, rank: old.rank)
  }
}

/// A quarantined index, of which each part is read by itself, as any of its pages may be damaged.
final class QuarantinedIndex {
  /// A readable entry, whose bytes and metadata match their checksums unless it is in a file of its own.
  struct Entry {
    var number: Int64
    var key: ResourceKey
    var bytes: Int64 = 0
    var rank: Int64 = 0
    var used: Int64?
    var isPinned: Bool
    var size: Int64
    var checksum: UInt64
    var receivedAt: Int64 = 0
    var metadata: EntryMetadata?
    /// The bytes, or `nil` if they are in a file of their own.
    var body: Data?
    /// True if the bytes are in the body's file.
    var isFile = false
  }

  private let queue: DatabaseQueue
  private let sources: SourceBook
  private let version: Int64
  /// The format that the file states.
  let format: Int64
  private let frames = FrameBook()

  /// Opens the file, or returns `nil` if that fails or the tables are of an unknown format.
  init?(_ path: String, _ sources: SourceBook) {
    // A file that isn't a database has nothing to copy.
    guard let queue = try? DatabaseQueue(path: path),
      let version = try? queue.inDatabase({ try Int64.fetchOne($0, sql: "PRAGMA user_version") }),
      let columns = try? queue.inDatabase({
        try String.fetchSet($0, sql: "SELECT name FROM pragma_table_info('entry')")
      })
    else { return nil }
    let isOfThisFormat = columns.contains("bears")
    guard isOfThisFormat || version <= IndexSchema.version else { return nil }
    self.queue = queue
    self.sources = sources
    format = version
    // The version that the file states may be damaged too, so its columns decide.
    self.version = isOfThisFormat ? 3 : min(version, 2)
  }

  // If a change of its rows isn't written back now, the next opening does that.
  func close() { try? queue.close() }

  /// True if the file has the tables of this version and no others.
  var hasKnownTables: Bool {
    let definitions = try? queue.inDatabase { database in
      try Optional<String>.fetchAll(database, sql: "SELECT sql FROM sqlite_master").compactMap(\.self)
    }
    return definitions.map { IndexSchema.isWhole($0) } ?? false
  }

  /// The identity of a row of pins.
  typealias PinRow = (block: Int64, holder: Int64)

  /// Returns the pins up to the first damaged page, and the rows that were read whole. `isWhole` is true if these are all.
  func pins() -> (found: [(key: ResourceKey, holder: String)], rows: [PinRow], isWhole: Bool) {
    var found: [(key: ResourceKey, holder: String)] = []
    var rows: [PinRow] = []
    var isWhole = true
    let columns = version >= 3 ? "p.mask, p.block, p.holder" : "1, NULL, NULL"
    let isAll = scan(
      """
      SELECT s.name, p.name, h.name, \(columns) FROM pin p JOIN holder h ON h.id = p.holder
      JOIN source s ON s.id = p.source
      """
    ) { select in
      guard let text = select.text(at: 0), let holder = select.text(at: 2) else {
        isWhole = false
        return
      }
      let source = sources.source(SourceID(text))
      let name = version >= 3 ? select.name(at: 1) : select.earlierName(at: 1)
      let block = select.optionalInt(at: 4)
      var isRead = true
      for place in KnownSource.places(of: select.int(at: 3)) {
        let key = ResourceKey(source.id, KnownSource.name(name, at: place))
        // A name of another form would be read as that of another resource.
        if let block, block | Int64(place) << 2 != source.number(of: key) {
          isRead = false
        } else {
          found.append((key, holder))
        }
      }
      if let block, isRead { rows.append((block, select.int(at: 5))) }
      isWhole = isWhole && isRead
    }
    return (found, rows, isAll && isWhole)
  }

  /// Returns the identities of sources, as far as they are readable.
  func identities() -> [(source: SourceID, identity: Int64)] {
    var found: [(source: SourceID, identity: Int64)] = []
    _ = scan("SELECT source, value FROM identity") { select in
      if let name = select.text(at: 0) { found.append((SourceID(name), select.int(at: 1))) }
    }
    return found
  }

  /// Returns the numbers of entries, least recently used ones first. `isWhole` is true if these are all.
  ///
  /// A damaged page hides those behind it. So the entries are then also listed backwards, and by their ranks, which
  /// other pages have.
  func numbers() -> (found: [Int64], isWhole: Bool) {
    var ranks: [Int64: Int64] = [:]
    let note: (PreparedStatement) -> Void = { ranks[$0.int(at: 0)] = $0.int(at: 1) }
    let isWhole = scan("SELECT id, rank FROM entry ORDER BY id", note)
    if !isWhole {
      _ = scan("SELECT id, rank FROM entry ORDER BY id DESC", note)
      _ = scan("SELECT id, rank FROM entry INDEXED BY entry_rank WHERE pinned = 0 ORDER BY rank", note)
      for pin in pinned() where ranks[pin] == nil { ranks[pin] = 0 }
    }
    return (ranks.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map(\.key), isWhole)
  }

  /// Deletes rows of entries and of pins. If this fails, all of them stay.
  func forget(_ rows: [Int64], pins: [PinRow]) {
    try? queue.write { database in
      let delete = try PreparedStatement("DELETE FROM entry WHERE id = ?1", in: database)
      for row in rows {
        delete.bind(row, at: 1)
        try delete.run()
      }
      let release = try PreparedStatement("DELETE FROM pin WHERE block = ?1 AND holder = ?2", in: database)
      for pin in pins {
        release.bind(pin.block, at: 1)
        release.bind(pin.holder, at: 2)
        try release.run()
      }
    }
  }

  /// Returns the numbers that pins name.
  private func pinned() -> [Int64] {
    var found: [Int64] = []
    let note: (PreparedStatement) -> Void = { select in
      for place in KnownSource.places(of: select.int(at: 1)) {
        for variant in 0..<Int64(ResourceKey.variantCount) {
          found.append(select.int(at: 0) + Int64(place) << 2 + variant)
        }
      }
    }
    _ = scan(version >= 3 ? "SELECT block, mask FROM pin" : "SELECT entry, 1 FROM pin", note)
    return found
  }

  /// Runs a statement up to its end or the first damaged page. Returns false for the latter.
  private func scan(_ sql: String, _ row: (PreparedStatement) -> Void) -> Bool {
    do {
      try queue.inDatabase { database in
        let select = try PreparedStatement(sql, in: database)
        defer { select.reset() }
        while try select.step() { row(select) }
      }
      return true
    } catch {
      // The rows up to here count.
      return false
    }
  }

  /// Returns an entry, or `nil` if it can't be read or does not match its checksums.
  func entry(_ number: Int64, _ files: EntryFolder) -> Entry? {
    // One damaged page hides its own entries only.
    try? queue.inDatabase { database in
      guard version >= 3 else {
        return try Entry(
          number, in: database, sources, of: Self.earlier(""), hasVariants: version >= 2)
      }
      let entry = try Entry(number, in: database, sources, files, frames)
      // A name of another form would be read as that of another resource.
      return entry?.number == number ? entry : nil
    }
  }

  /// Returns the statement that reads an entry of format 1 or 2.
  /// - Parameter prefix: the beginning of the tables' names.
  static func earlier(_ prefix: String) -> String {
    """
    SELECT s.name, e.name, e.bytes, e.used, e.received, e.pinned, e.checksum, e.body, e.metadata, b.data, e.rank, e.size
    FROM \(prefix)entry e JOIN \(prefix)source s ON s.id = e.source LEFT JOIN \(prefix)body b ON b.id = e.body
    WHERE e.id = ?1
    """
  }
}

extension QuarantinedIndex.Entry {
  /// Reads an entry of format 1 or 2.
  /// - Parameter hasVariants: true if the two lowest bits of a number are the variant, as from format 2 on.
  init?(
    _ number: Int64, in database: Database, _ sources: SourceBook, of statement: String, hasVariants: Bool
  ) throws {
    let find = try PreparedStatement(statement, in: database)
    find.bind(number, at: 1)
    defer { find.reset() }
    guard try find.step(), let name = find.text(at: 0) else { return nil }
    let source = sources.source(SourceID(name))
    key = ResourceKey(
      source.id, find.earlierName(at: 1), variant: hasVariants ? KnownSource.variant(number) : 0)
    self.number = source.number(of: key)
    bytes = find.int(at: 2)
    used = find.int(at: 3)
    receivedAt = find.int(at: 4)
    isPinned = find.int(at: 5) != 0
    checksum = UInt64(bitPattern: find.int(at: 6))
    rank = find.int(at: 10)
    size = find.int(at: 11)
    if find.isNull(at: 7) { return }
    let data = find.blob(at: 9)
    guard !find.isNull(at: 9), BodyChecksum.of(data) == checksum,
      let metadata = MetadataCoding.decode(find.blob(at: 8), seed: source.seed(checksum))
    else { return nil }
    self.metadata = metadata
    body = Data(data)
  }

  /// Reads an entry of this format.
  init?(
    _ number: Int64, in database: Database, _ sources: SourceBook, _ files: EntryFolder, _ frames: FrameBook
  ) throws {
    let find = try PreparedStatement(
      """
      SELECT s.name, e.name, e.bytes, e.used, e.pinned, e.rank, e.body, e.frame, e.metadata, b.checksum, b.size, b.place,
        p.data
      FROM entry e JOIN source s ON s.id = e.source LEFT JOIN body b ON b.id = e.body LEFT JOIN page p ON p.id = b.page
      WHERE e.id = ?1
      """, in: database)
    find.bind(number, at: 1)
    defer { find.reset() }
    guard try find.step(), let name = find.text(at: 0) else { return nil }
    let source = sources.source(SourceID(name))
    key = ResourceKey(source.id, find.name(at: 1), variant: KnownSource.variant(number))
    self.number = source.number(of: key)
    bytes = find.int(at: 2)
    used = find.optionalInt(at: 3)
    isPinned = find.int(at: 4) != 0
    rank = find.int(at: 5)
    if find.isNull(at: 6) {
      let note = FileNote(find.blob(at: 8))
      (size, checksum, receivedAt) = (note.size, note.checksum, note.receivedAt)
      return
    }
    checksum = UInt64(bitPattern: find.int(at: 9))
    size = find.int(at: 10)
    guard !find.isNull(at: 9),
      let metadata = try frames.metadata(
        find.blob(at: 8), frame: find.optionalInt(at: 7), seed: source.seed(checksum), in: database)
    else { return nil }
    self.metadata = metadata
    isFile = find.isNull(at: 12)
    if isFile {
      body = try files.body(BodyName(checksum: checksum, size: size))
    } else {
      let bytes = find.blob(at: 12).part(at: Int(find.int(at: 11)), count: Int(size))
      if let bytes, BodyChecksum.of(bytes) == checksum { body = Data(bytes) }
    }
    if body == nil { return nil }
  }
}
