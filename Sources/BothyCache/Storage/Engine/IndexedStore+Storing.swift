internal import BothyStore
internal import Foundation
internal import GRDB

extension IndexedStore {
  /// An entry made ready outside the lock.
  struct Prepared {
    var key: ResourceKey
    var source: KnownSource
    var number: Int64
    var body: Data
    var metadata: EntryMetadata
    var checksum: UInt64
    /// The metadata's stored form for a row; what is written behind the body for a file.
    var tail: [UInt8]
    var isInRow: Bool
    /// What it is counted with.
    var bytes: Int64
  }

  func store(_ entries: [(key: ResourceKey, entry: CacheEntry)]) throws -> StoreReport {
    var report = StoreReport()
    var prepared: [Prepared] = []
    var places: [Int64: Int] = [:]
    for (key, entry) in entries {
      let one = prepare(key, entry)
      if let place = places[one.number] {
        prepared[place] = one
      } else {
        places[one.number] = prepared.count
        prepared.append(one)
      }
    }
    try lock.writing {
      for chunk in chunks(prepared) { try store(chunk, &report) }
    }
    return report
  }

  private func prepare(_ key: ResourceKey, _ entry: CacheEntry) -> Prepared {
    let source = sources.source(key.source)
    let checksum = entry.body.withUnsafeBytes { XXH64.hash($0) }
    let isInRow = largestRow.map { entry.body.count <= $0 } ?? false
    let tail =
      isInRow
      ? MetadataCoding.encode(entry.metadata, seed: source.seed(checksum))
      : EntryFile.tail(key, source, entry.metadata, entry.body, checksum)
    return Prepared(
      key: key, source: source, number: source.number(of: key), body: entry.body, metadata: entry.metadata,
      checksum: checksum, tail: tail, isInRow: isInRow,
      bytes: isInRow ? rowBytes(entry.body.count, tail.count) : Self.fileBytes(entry.body.count + tail.count))
  }

  /// A file takes whole blocks, and a row in the index.
  static func fileBytes(_ size: Int) -> Int64 { Int64((size + 4095) / 4096 * 4096 + 256) }

  /// A body that does not share its page takes whole pages.
  func rowBytes(_ size: Int, _ metadata: Int) -> Int64 {
    let body = size + 32
    return Int64((body > pageSize / 2 ? (body + pageSize - 1) / pageSize * pageSize : body) + metadata + 160)
  }

  /// Parts that are one transaction each: what a part adds has to have room beside what the limits allow.
  private func chunks(_ entries: [Prepared]) -> [ArraySlice<Prepared>] {
    let limits = limits
    let most = limits.bytes.map { min(1 << 20, IndexTransaction.reserve($0) / 4) } ?? 1 << 20
    let mostEntries = max(1, min(limits.count ?? 256, 256))
    var chunks: [ArraySlice<Prepared>] = []
    var start = 0
    var bytes: Int64 = 0
    for (place, entry) in entries.enumerated() {
      if place > start && (bytes + entry.bytes > most || place - start >= mostEntries) {
        chunks.append(entries[start..<place])
        start = place
        bytes = 0
      }
      bytes += entry.bytes
    }
    if start < entries.count { chunks.append(entries[start...]) }
    return chunks
  }

  private func store(_ chunk: ArraySlice<Prepared>, _ report: inout StoreReport) throws {
    var outcome = Outcome()
    do {
      outcome = try write { try $0.put(chunk) }
    } catch  where DiskError.isDiskFull(error) {
      let evicted = relieve(chunk.reduce(0) { $0 + $1.bytes })
      report.evicted += evicted
      do { outcome = try write { try $0.put(chunk) } } catch  where DiskError.isDiskFull(error) {
        for entry in chunk { report.refused[entry.key] = .diskFull }
        return
      }
    }
    let failed = try outcome.inFiles.filter { try !isWritten($0) }
    var refused: Set<ResourceKey> = []
    if !failed.isEmpty {
      report.evicted += relieve(failed.reduce(0) { $0 + $1.bytes })
      for entry in failed where try !isWritten(entry) {
        try restore(entry)
        refused.insert(entry.key)
      }
    }
    report.stored += outcome.stored.count - refused.count
    report.unchanged.formUnion(outcome.unchanged.subtracting(refused))
    report.evicted += outcome.evicted
    for key in refused { report.refused[key] = .diskFull }
    for key in outcome.tooLarge { report.refused[key] = .tooLarge }
  }

  /// Writes an entry's file. False when the disk is full.
  private func isWritten(_ entry: Prepared) throws -> Bool {
    do {
      try options.checkDisk(indexPath)
      try files.write(files.path(entry.key, entry.source), entry.body, entry.tail)
      return true
    } catch  where DiskError.isDiskFull(error) {
      return false
    }
  }

  /// Frees room on a full disk by what the limits would let go next. Returns what went.
  private func relieve(_ bytes: Int64) -> [ResourceKey] {
    // The log may be what fills the disk. When it cannot be emptied, evicting may still help.
    try? maintain("PRAGMA wal_checkpoint(TRUNCATE)")
    for _ in 0..<2 {
      // Files go before the commit: when that fails for want of room, the second attempt finds some.
      if let evicted = try? write({ try $0.evict(bytes: bytes * 2, keeping: []) }) { return evicted }
    }
    return []
  }

  /// Makes the row of an entry whose file could not be written tell of the file that is there instead, or go.
  private func restore(_ entry: Prepared) throws {
    let path = files.path(entry.key, entry.source)
    let there = try files.describe(path, sources)
    try write { transaction in
      guard let row = try transaction.row(entry.number) else { return }
      try transaction.delete(row, keepingFile: there != nil)
      if let there { try transaction.adopt(there) }
    }
  }

  func update(_ key: ResourceKey, _ metadata: EntryMetadata) throws -> Bool {
    let source = sources.source(key.source)
    return try lock.writing {
      let isInRow = try write { transaction in
        guard let row = try transaction.row(source.number(of: key)), row.name == key.name, row.body != nil
        else {
          return false
        }
        var next = row
        let tail = MetadataCoding.encode(metadata, seed: source.seed(row.checksum))
        next.bytes = rowBytes(Int(row.size), tail.count)
        next.received = metadata.receivedAt
        try transaction.replace(row, next, tail)
        _ = try transaction.makeRoom(bytes: 0, count: 0, keeping: [row.number])
        return true
      }
      if isInRow { return true }
      guard case .entry(let old) = try files.read(key, source) else { return false }
      var report = StoreReport()
      try store([prepare(key, CacheEntry(metadata: metadata, body: old.body))][...], &report)
      return report.stored == 1
    }
  }
}

/// What a transaction did with what it was given.
struct Outcome {
  var stored: [ResourceKey] = []
  var unchanged: Set<ResourceKey> = []
  var tooLarge: [ResourceKey] = []
  var evicted: [ResourceKey] = []
  /// Counted, and to be written now.
  var inFiles: [IndexedStore.Prepared] = []
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
        // While a file is replaced, the old and the new one are there.
        if !entry.isInRow && old != nil { largest = max(largest, entry.bytes) }
        accepted.append((entry, old, false))
      }
    }
    let kept = Set(accepted.map(\.entry.number))
    outcome.evicted = try makeRoom(bytes: bytes + largest, count: count, keeping: kept)
    for (entry, old, isPinned) in accepted { try put(entry, old, isPinned, &outcome) }
    outcome.evicted += try holdFileSize(keeping: kept)
    // Not before everything that goes is gone, which takes empty folders along.
    for entry in outcome.inFiles {
      folders += Int64(try files.makeFolders(above: files.path(entry.key, entry.source)))
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

  /// Replaces what is known of an entry in a row.
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

  /// Counts a file that is there.
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
}
