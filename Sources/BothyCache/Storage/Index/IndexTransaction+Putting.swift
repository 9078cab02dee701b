internal import BothyStore
internal import Foundation
internal import GRDB

/// The result of a transaction for the entries to store.
struct Outcome {
  var stored: [ResourceKey] = []
  var unchanged: Set<ResourceKey> = []
  var tooLarge: [ResourceKey] = []
  var evicted: [ResourceKey] = []
  /// Entries that are counted, whose files must be written now.
  var inFiles: [IndexedStore.Prepared] = []
  var inSmallerFiles: [IndexedStore.Prepared] = []
}

extension IndexTransaction {
  func put(_ entries: ArraySlice<IndexedStore.Prepared>) throws -> Outcome {
    var outcome = Outcome()
    var accepted: [(entry: IndexedStore.Prepared, old: EntryRow?, isPinned: Bool)] = []
    var bytes: Int64 = 0
    var count: Int64 = 0
    var largest: Int64 = 0
    for entry in entries {
      let old = try row(entry.number)
      let isPinned = try old?.isPinned ?? isWanted(entry.number)
      if isPinned {
        accepted.append((entry, old, true))
      } else if entry.bytes > largestEntry {
        outcome.tooLarge.append(entry.key)
      } else {
        bytes += entry.bytes - (old?.bytes ?? 0)
        count += old == nil ? 1 : 0
        // While a file is replaced, the old and the new one both exist.
        if !entry.isInRow && old != nil { largest = max(largest, entry.bytes) }
        accepted.append((entry, old, false))
      }
    }
    let kept = Set(accepted.map(\.entry.number))
    outcome.evicted = try makeRoom(bytes: bytes + largest, count: count, keeping: kept)
    for (entry, old, isPinned) in accepted { try put(entry, old, isPinned, &outcome) }
    outcome.evicted += try holdFileSize(keeping: kept)
    // Folders are created after all deletions, because those delete empty folders.
    for entry in outcome.inFiles {
      folders += Int64(try files.makeFolders(above: files.path(entry.key, entry.source)))
    }
    // A file that gets smaller is replaced before the commit that counts it with less.
    for entry in outcome.inSmallerFiles {
      try files.write(files.path(entry.key, entry.source), entry.body, entry.tail)
    }
    return outcome
  }

  private func put(
    _ entry: IndexedStore.Prepared, _ old: EntryRow?, _ isPinned: Bool, _ outcome: inout Outcome
  ) throws {
    var body: Int64?
    if let old {
      let isSameKey = old.name == entry.key.name
      var isUnchanged = isSameKey && old.size == entry.body.count && old.checksum == entry.checksum
      if isUnchanged, entry.isInRow, let known = old.body {
        isUnchanged = try holds(known, entry.body)
        if isUnchanged { body = known }
      }
      if isUnchanged { outcome.unchanged.insert(entry.key) }
      try delete(old, keepingBody: body != nil, keepingFile: isSameKey && !entry.isInRow)
    }
    if entry.isInRow {
      if body == nil { body = try self.body(entry.body, entry.checksum) }
    } else if let old, old.body == nil, old.name == entry.key.name, old.bytes > entry.bytes {
      outcome.inSmallerFiles.append(entry)
    } else {
      outcome.inFiles.append(entry)
    }
    let row = EntryRow(
      number: entry.number, source: try number(of: entry.source), name: entry.key.name, bytes: entry.bytes,
      used: entry.metadata.validatedAt, received: entry.metadata.receivedAt, isPinned: isPinned,
      size: Int64(entry.body.count), checksum: entry.checksum, body: body)
    try insert(row, entry.isInRow ? entry.tail : nil)
    outcome.stored.append(entry.key)
  }

  /// Replaces the metadata of an entry in a row.
  func replace(_ old: EntryRow, _ new: EntryRow, _ metadata: [UInt8]) throws {
    let update = try PreparedStatement(
      "UPDATE entry SET bytes = ?2, received = ?3, metadata = ?4 WHERE id = ?1", in: database)
    update.bind(old.number, at: 1)
    update.bind(new.bytes, at: 2)
    update.bind(new.received, at: 3)
    update.bind(Data(metadata), at: 4)
    try update.run()
    tally(old, -1)
    tally(new, 1)
  }

  /// Counts an existing file.
  func adopt(_ file: EntryFolder.Description) throws {
    let source = sources.source(file.key.source)
    let number = source.number(of: file.key)
    if let old = try row(number) { try delete(old, keepingFile: true) }
    let row = EntryRow(
      number: number, source: try self.number(of: source), name: file.key.name,
      bytes: IndexedStore.fileBytes(file.fileSize), used: file.metadata.validatedAt,
      received: file.metadata.receivedAt, isPinned: try isWanted(number), size: Int64(file.bodyCount),
      checksum: file.bodyChecksum, body: nil)
    try insert(row, nil)
  }

  // MARK: files ahead of their rows

  func noteLoose(_ key: ResourceKey) throws {
    let insert = try PreparedStatement("INSERT OR REPLACE INTO loose VALUES (?1, ?2, ?3)", in: database)
    let source = sources.source(key.source)
    insert.bind(source.number(of: key), at: 1)
    insert.bind(try number(of: source), at: 2)
    insert.bind(key.name, at: 3)
    try insert.run()
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
