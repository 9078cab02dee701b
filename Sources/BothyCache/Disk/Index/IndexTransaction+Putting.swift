internal import BothyStore
internal import Foundation
internal import GRDB

/// The result of a transaction for the entries to store.
struct Outcome {
  var stored: [ResourceKey] = []
  var unchanged: Set<ResourceKey> = []
  var tooLarge: [ResourceKey] = []
  /// Entries whose id has entries of another source.
  var ofOthers: [ResourceKey] = []
  /// Entries in whose place newer ones are stored.
  var outdated: Set<ResourceKey> = []
  var evicted: [ResourceKey] = []
  /// Entries that are counted, whose own files must be written now.
  var inFiles: [DiskStore.Prepared] = []
  var inSmallerFiles: [DiskStore.Prepared] = []
  /// True if an entry has other bytes than before, or an id belongs to another source.
  var replaces = false
  /// True if files are noted that nothing may name after the commit.
  var leavesFiles = false
}

extension IndexTransaction {
  func put(_ entries: ArraySlice<DiskStore.Prepared>) throws -> Outcome {
    var outcome = Outcome()
    var accepted: [(entry: DiskStore.Prepared, old: EntryRow?, isPinned: Bool)] = []
    var bytes: Int64 = 0
    var count: Int64 = 0
    var largest: Int64 = 0
    for entry in entries {
      guard try admits(entry.source, entry.identity) else {
        outcome.ofOthers.append(entry.key)
        continue
      }
      let old = try row(entry.number)
      if try isOutdated(entry, old) {
        outcome.outdated.insert(entry.key)
        continue
      }
      let isPinned = try old?.isPinned ?? isWanted(entry.number)
      if isPinned {
        accepted.append((entry, old, true))
      } else if entry.bytes > largestEntry {
        outcome.tooLarge.append(entry.key)
      } else {
        bytes += try added(entry, old)
        count += old == nil ? 1 : 0
        // While a file is replaced, the old and the new one both exist.
        if entry.place == .ownFile && old != nil { largest = max(largest, entry.bytes) }
        accepted.append((entry, old, false))
      }
    }
    let kept = Set(accepted.map(\.entry.number))
    outcome.evicted = try makeRoom(bytes: bytes + largest, count: count, keeping: kept)
    // Rows are written in their order, so that their pages become fuller. They are used in the order of the call.
    let ranked = accepted.map {
      (entry: $0.entry, isPinned: $0.isPinned, rank: nextRank(replacing: $0.old?.rank))
    }
    for (entry, isPinned, rank) in ranked.sorted(by: { $0.entry.number < $1.entry.number }) {
      let old = try row(entry.number)
      try put(entry, old, isPinned, rank, &outcome)
      if old != nil, !outcome.unchanged.contains(entry.key) { outcome.replaces = true }
    }
    // Other entries may share the bytes of a replaced one, which count for them now.
    outcome.evicted += try makeRoom(bytes: 0, count: 0, keeping: kept)
    outcome.evicted += try holdFileSize(keeping: kept)
    // Folders are created after all deletions, because those delete empty folders.
    for entry in outcome.inFiles {
      folders += Int64(try files.makeFolders(above: files.path(entry.key, entry.source)))
    }
    // A file that gets smaller is replaced before the commit that counts it with less.
    for entry in outcome.inSmallerFiles {
      try files.write(files.path(entry.key, entry.source), entry.body, entry.tail)
    }
    outcome.leavesFiles = leavesFiles
    if replacesIdentity { outcome.replaces = true }
    return outcome
  }

  /// Notes the files of large bodies that are about to be written, and makes room for them.
  ///
  /// Returns the numbers of the entries that will be stored, and the evicted keys.
  func announceFiles(of entries: [DiskStore.Prepared]) throws -> (wanted: Set<Int64>, evicted: [ResourceKey])
  {
    var wanted: Set<Int64> = []
    let kept = Set(entries.map(\.number))
    var bytes: Int64 = 0
    for entry in entries {
      let old = try row(entry.number)
      if try isOutdated(entry, old) { continue }
      let isPinned = try old?.isPinned ?? isWanted(entry.number)
      guard isPinned || entry.bytes <= largestEntry else { continue }
      // A file that is confirmed stays as it is. If it turns out to be damaged, the bytes get a page.
      if let old, old.body?.isFile == true, old.size == entry.body.count, old.checksum == entry.checksum {
        continue
      }
      try noteUnnamed(entry.bodyName)
      wanted.insert(entry.number)
      // While a file is replaced, the old and the new one both exist.
      if !isPinned { bytes += old == nil ? try added(entry, old) : entry.bytes }
    }
    return (wanted, try makeRoom(bytes: bytes, count: 0, keeping: kept))
  }

  /// Returns true if newer bytes have come since the entry's request: ones that were requested later, or for a
  /// confirmation any others than it confirms.
  private func isOutdated(_ entry: DiskStore.Prepared, _ old: EntryRow?) throws -> Bool {
    guard let old, old.size != entry.body.count || old.checksum != entry.checksum else { return false }
    if entry.isConfirmation {
      let receivedAt = try old.body == nil ? old.receivedAt : metadata(of: old)?.receivedAt
      return receivedAt ?? .min > entry.metadata.receivedAt
    }
    // The bytes that the request knew are replaced whatever their time is, as clocks are set back.
    guard let known = entry.known, old.body != nil || old.receivedAt != known else { return false }
    let stored =
      try old.body == nil
      ? files.describe(files.path(entry.key, entry.source), sources)?.metadata : metadata(of: old)
    guard let stored, stored.receivedAt != known else { return false }
    return stored.requestedAt > entry.metadata.requestedAt
  }

  /// Returns by how much an entry makes the counted bytes grow. Bytes that another entry has count once.
  private func added(_ entry: DiskStore.Prepared, _ old: EntryRow?) throws -> Int64 {
    if entry.place == .ownFile { return entry.bytes - (old?.bytes ?? 0) }
    if let old, old.body != nil, old.size == entry.body.count, old.checksum == entry.checksum {
      return entry.own - old.own
    }
    let isKnown = try knownBody(entry.body, entry.checksum) != nil
    return (isKnown ? entry.own : entry.bytes) - (old?.bytes ?? 0)
  }

  private func put(
    _ entry: DiskStore.Prepared, _ old: EntryRow?, _ isPinned: Bool, _ rank: Int64, _ outcome: inout Outcome
  ) throws {
    outcome.stored.append(entry.key)
    if entry.place == .ownFile { return try putFile(entry, old, isPinned, rank, &outcome) }
    if let old, old.name == entry.key.name, old.body != nil, old.size == entry.body.count,
      old.checksum == entry.checksum, try holds(old, entry.body)
    {
      outcome.unchanged.insert(entry.key)
      return try renew(old, entry.form, rank: rank)
    }
    if let old {
      // An entry that was in a file of its own may have the same bytes.
      if old.name == entry.key.name, old.body == nil, old.size == entry.body.count,
        old.checksum == entry.checksum
      {
        outcome.unchanged.insert(entry.key)
      }
      try delete(old, isReplaced: true)
    }
    let known = try knownBody(entry.body, entry.checksum)
    var row = EntryRow(
      number: entry.number, source: try number(of: entry.source), name: entry.key.name, isPinned: isPinned,
      own: 0, size: Int64(entry.body.count), checksum: entry.checksum)
    let isFile = entry.place == .bodyFile && awaited.contains(entry.bodyName)
    row.body = try known ?? addBody(entry.body, entry.checksum, isFile: isFile)
    row.bears = known == nil
    let metadata = try settle(entry.form, &row)
    try insert(row, metadata, rank: rank)
  }

  private func putFile(
    _ entry: DiskStore.Prepared, _ old: EntryRow?, _ isPinned: Bool, _ rank: Int64, _ outcome: inout Outcome
  ) throws {
    if let old {
      let isSameKey = old.name == entry.key.name
      if isSameKey && old.size == entry.body.count && old.checksum == entry.checksum {
        outcome.unchanged.insert(entry.key)
      }
      try delete(old, keepingFile: isSameKey, isReplaced: true)
    }
    if let old, old.body == nil, old.name == entry.key.name, old.bytes > entry.bytes {
      outcome.inSmallerFiles.append(entry)
    } else {
      outcome.inFiles.append(entry)
    }
    let row = EntryRow(
      number: entry.number, source: try number(of: entry.source), name: entry.key.name, isPinned: isPinned,
      own: entry.bytes, size: Int64(entry.body.count), checksum: entry.checksum)
    let note = FileNote(
      size: row.size, checksum: row.checksum, receivedAt: entry.metadata.receivedAt)
    try insert(row, note.bytes, rank: rank)
  }

  /// True if the row's body has these bytes.
  private func holds(_ row: EntryRow, _ data: Data) throws -> Bool {
    guard let known = try knownBody(data, row.checksum) else { return false }
    return known.row == row.body?.row
  }

  /// Returns the bytes of metadata for its row, and notes their size and their frame in it.
  func settle(_ form: RowMetadata.Form, _ row: inout EntryRow) throws -> [UInt8] {
    row.frame = try form.frame.flatMap { try number(of: $0) }
    let bytes = row.frame == nil ? form.whole : form.bytes
    row.own = EntryRow.own(bytes.count)
    return bytes
  }

  /// The largest number of frames. Further metadata is stored without one.
  private static let mostFrames: Int64 = 2048

  /// Finds or inserts a frame. Returns `nil` if there are too many.
  private func number(of frame: MetadataFrame) throws -> Int64? {
    let likely = frames.number(frame.checksum)
    if let likely, try find(frame, "SELECT id FROM frame WHERE id = ?1 AND data = ?2", likely) != nil {
      return likely
    }
    let known = try find(
      frame, "SELECT id FROM frame WHERE checksum = ?1 AND data = ?2", Int64(bitPattern: frame.checksum))
    if let known {
      frames.note(known, frame.checksum)
      return known
    }
    let count = try PreparedStatement("SELECT count(*) FROM frame", in: database)
    let isFull = try count.step() && count.int(at: 0) >= Self.mostFrames
    count.reset()
    if isFull { return nil }
    let number = nextNumber()
    let insert = try PreparedStatement("INSERT INTO frame VALUES (?1, ?2, ?3)", in: database)
    insert.bind(number, at: 1)
    insert.bind(Int64(bitPattern: frame.checksum), at: 2)
    insert.bind(Data(frame.bytes), at: 3)
    try insert.run()
    frames.note(number, frame.checksum)
    return number
  }

  private func find(_ frame: MetadataFrame, _ sql: String, _ value: Int64) throws -> Int64? {
    let find = try PreparedStatement(sql, in: database)
    find.bind(value, at: 1)
    find.bind(Data(frame.bytes), at: 2)
    defer { find.reset() }
    return try find.step() ? find.int(at: 0) : nil
  }

  /// Replaces the metadata of an entry whose body has a row, which counts as a use. Bodies are neither read nor written.
  private func renew(_ old: EntryRow, _ form: RowMetadata.Form, rank: Int64) throws {
    var new = old
    let bytes = try settle(form, &new)
    let update = try PreparedStatement(
      "UPDATE entry SET metadata = ?2, frame = ?3, rank = ?4, used = NULL WHERE id = ?1", in: database)
    update.bind(old.number, at: 1)
    update.bind(Data(bytes), at: 2)
    update.bind(new.frame, at: 3)
    update.bind(rank, at: 4)
    try update.run()
    tally(old, -1)
    tally(new, 1)
  }

  /// Counts an existing file of an entry's own, unless the row of a newer version exists.
  ///
  /// - Parameter pinned: the numbers of entries that were pinned in a quarantined index.
  func adopt(_ file: EntryFolder.Description, pinned: Set<Int64> = []) throws {
    let source = sources.source(file.key.source)
    let number = source.number(of: file.key)
    let old = try row(number)
    if let old {
      if old.body != nil, try metadata(of: old)?.receivedAt ?? 0 > file.metadata.receivedAt { return }
      try delete(old, keepingFile: true)
    }
    let row = EntryRow(
      number: number, source: try self.number(of: source), name: file.key.name,
      isPinned: try pinned.contains(number) || isWanted(number), own: DiskStore.fileBytes(file.fileSize),
      size: Int64(file.bodyCount), checksum: file.bodyChecksum)
    let note = FileNote(size: row.size, checksum: row.checksum, receivedAt: file.metadata.receivedAt)
    try insert(row, note.bytes, rank: nextRank(replacing: old?.rank))
  }

  /// Returns the metadata of an entry whose body has a row, or `nil` if it is damaged.
  func metadata(of row: EntryRow) throws -> EntryMetadata? {
    let seed = sources.source(try source(row.source)).seed(row.checksum)
    let find = try PreparedStatement("SELECT metadata FROM entry WHERE id = ?1", in: database)
    find.bind(row.number, at: 1)
    defer { find.reset() }
    guard try find.step() else { return nil }
    return try frames.metadata(find.blob(at: 0), frame: row.frame, seed: seed, in: database)
  }

  // MARK: own files ahead of their rows, and after them

  func noteLoose(_ key: ResourceKey) throws {
    let insert = try PreparedStatement("INSERT OR REPLACE INTO loose VALUES (?1, ?2, ?3)", in: database)
    let source = sources.source(key.source)
    insert.bind(source.number(of: key), at: 1)
    insert.bind(try number(of: source), at: 2)
    insert.bind(key.name, at: 3)
    try insert.run()
    leavesFiles = true
  }

  /// Empties the list of loose files and returns it.
  func takeLoose() throws -> [ResourceKey] {
    let select = try PreparedStatement("SELECT id, source, name FROM loose", in: database)
    var found: [(number: Int64, source: Int64, name: ResourceKey.Name)] = []
    while try select.step() { found.append((select.int(at: 0), select.int(at: 1), select.name(at: 2))) }
    select.reset()
    if !found.isEmpty { try database.execute(sql: "DELETE FROM loose") }
    return try found.map {
      ResourceKey(try source($0.source), $0.name, variant: KnownSource.variant($0.number))
    }
  }
}
