internal import BothyStore
internal import Foundation
internal import GRDB

extension IndexedStore {
  /// An entry that was prepared outside the lock.
  struct Prepared {
    var key: ResourceKey
    var source: KnownSource
    var number: Int64
    var body: Data
    var metadata: EntryMetadata
    var checksum: UInt64
    /// The metadata's stored form for a row, or the bytes after the body for a file.
    var tail: [UInt8]
    var isInRow: Bool
    /// The bytes that the entry counts.
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
    let checksum = entry.body.withUnsafeBytes { BodyChecksum.of($0) }
    return prepare(key, entry, checksum, isInRow: largestRow.map { entry.body.count <= $0 } ?? false)
  }

  private func prepare(_ key: ResourceKey, _ entry: CacheEntry, _ checksum: UInt64, isInRow: Bool) -> Prepared
  {
    let source = sources.source(key.source)
    let tail =
      isInRow
      ? MetadataCoding.encode(entry.metadata, seed: source.seed(checksum))
      : EntryFile.tail(key, source, entry.metadata, entry.body, checksum)
    return Prepared(
      key: key, source: source, number: source.number(of: key), body: entry.body, metadata: entry.metadata,
      checksum: checksum, tail: tail, isInRow: isInRow,
      bytes: isInRow ? rowBytes(entry.body.count, tail.count) : Self.fileBytes(entry.body.count + tail.count))
  }

  /// Returns the bytes that a file counts: whole blocks, and a row in the index.
  static func fileBytes(_ size: Int) -> Int64 { Int64((size + 4095) / 4096 * 4096 + 256) }

  /// Returns the bytes that a row counts. A body that does not share its page takes whole pages.
  func rowBytes(_ size: Int, _ metadata: Int) -> Int64 {
    let body = size + 32
    return Int64((body > pageSize / 2 ? (body + pageSize - 1) / pageSize * pageSize : body) + metadata + 160)
  }

  /// Splits entries into parts of one transaction each. The bytes of a part must fit beside those that the limits
  /// allow.
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

  private func store(_ entries: ArraySlice<Prepared>, _ report: inout StoreReport) throws {
    var outcome = Outcome()
    let bytes = entries.reduce(0) { $0 + $1.bytes }
    var chunk = entries
    var written: Set<Int64> = []
    do {
      try checkRoom(bytes)
      (chunk, written) = try settlePlaces(entries)
      outcome = try write { try $0.put(chunk) }
    } catch let error where DiskError.isDiskFull(error) {
      report.evicted += relieve(bytes)
      do {
        try checkRoom(bytes)
        (chunk, written) = try settlePlaces(entries)
        outcome = try write { try $0.put(chunk) }
      } catch let error where DiskError.isDiskFull(error) {
        for entry in chunk { report.refused[entry.key] = .diskFull }
        return
      }
    }
    if !written.isEmpty { try sweepLoose() }
    let failed = try outcome.inFiles.filter { try !written.contains($0.number) && !isWritten($0) }
    var refused: Set<ResourceKey> = []
    if !failed.isEmpty {
      report.evicted += relieve(failed.reduce(0) { $0 + $1.bytes })
      for entry in failed where try !isWritten(entry) {
        do { try restore(entry) } catch let error where DiskError.isDiskFull(error) {
          // The row stays and counts a missing file. The metadata is that of the file, which is still the old one.
        }
        refused.insert(entry.key)
      }
    }
    report.stored += outcome.stored.count - refused.count
    report.unchanged.formUnion(outcome.unchanged.subtracting(refused))
    report.evicted += outcome.evicted
    for key in refused { report.refused[key] = .diskFull }
    for key in outcome.tooLarge { report.refused[key] = .tooLarge }
  }

  /// Decides on the places of replaced entries, so that a crash leaves the old one or the new one.
  ///
  /// An entry in a file stays in a file. An entry that has outgrown its row is written to its file here, before the row
  /// names that file. Until then the file is recorded as loose. Returns the entries and the numbers of the written
  /// ones.
  private func settlePlaces(_ entries: ArraySlice<Prepared>) throws -> (ArraySlice<Prepared>, Set<Int64>) {
    guard largestRow != nil else { return (entries, []) }
    let places = try read(isLocked: true) { database in
      try entries.map { try RowReader.isInRow($0.number, in: database) }
    }
    guard let places else { return (entries, []) }
    var settled = entries
    var outgrown: [Prepared] = []
    for (index, isInRow) in zip(entries.indices, places) {
      let entry = entries[index]
      if isInRow == false && entry.isInRow {
        let content = CacheEntry(metadata: entry.metadata, body: entry.body)
        settled[index] = prepare(entry.key, content, entry.checksum, isInRow: false)
      } else if isInRow == true && !entry.isInRow {
        outgrown.append(entry)
      }
    }
    if outgrown.isEmpty { return (settled, []) }
    try write { transaction in for entry in outgrown { try transaction.noteLoose(entry.key) } }
    for entry in outgrown {
      let path = files.path(entry.key, entry.source)
      _ = try files.makeFolders(above: path)
      guard try isWritten(entry) else { throw DiskError.make(ENOSPC, path.pathText) }
    }
    return (settled, Set(outgrown.map(\.number)))
  }

  /// Removes recorded loose files that no row names. Call it with the lock held.
  func sweepLoose() throws {
    try write { transaction in
      for key in try transaction.takeLoose() {
        let source = sources.source(key.source)
        let row = try transaction.row(source.number(of: key))
        if row == nil || row?.body != nil { _ = files.remove(files.path(key, source)) }
      }
    }
  }

  /// Writes an entry's file. Returns false if the disk is full.
  private func isWritten(_ entry: Prepared) throws -> Bool {
    do {
      try options.checkDisk(indexPath)
      try files.write(files.path(entry.key, entry.source), entry.body, entry.tail)
      return true
    } catch let error where DiskError.isDiskFull(error) {
      return false
    }
  }

  /// Throws the error of a full disk while some space is left.
  ///
  /// Rows are written to the log first and from there into the file. If the log filled the disk, it could not be
  /// emptied and entries could not be evicted.
  private func checkRoom(_ bytes: Int64) throws {
    guard largestRow != nil else { return }
    var system = statvfs()
    guard statvfs(indexPath, &system) == 0 else { return }
    let free = Int64(system.f_bavail) * Int64(system.f_frsize)
    let log = FileBytes.size(indexPath + "-wal") ?? 0
    guard free < log + 2 * bytes + 512 << 10 else { return }
    let unused = try number("freelist_count") * Int64(pageSize)
    guard free >= log + bytes + max(0, bytes - unused) + 256 << 10 else {
      throw DiskError.make(ENOSPC, indexPath)
    }
  }

  /// Evicts the next entries by the limits' order to free space on a full disk. Returns the evicted keys.
  private func relieve(_ bytes: Int64) -> [ResourceKey] {
    // The log may be what fills the disk. If it can't be emptied, evicting may still help.
    try? maintain("PRAGMA wal_checkpoint(TRUNCATE)")
    for _ in 0..<2 {
      // Files are deleted before the commit. If it fails for lack of space, the second attempt finds some.
      if let evicted = try? write({ try $0.evict(bytes: bytes * 2, keeping: []) }) { return evicted }
    }
    return []
  }

  /// Repairs the row of an entry whose file could not be written. It then names the existing file or is deleted.
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
