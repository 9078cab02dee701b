internal import BothyStore
package import Foundation
internal import GRDB
internal import Synchronization

extension DiskStore {
  /// The place of an entry's bytes.
  enum Place: Sendable {
    /// A page of the index, for a body of at most 96 KB.
    case row
    /// A file that several entries may share, written before the commit that names it.
    case bodyFile
    /// A file of the entry's own, with the metadata at its end.
    case ownFile
  }

  /// An entry that was prepared outside the lock.
  struct Prepared {
    var key: ResourceKey
    var source: KnownSource
    /// The identity of the source, or `nil` if it isn't known.
    var identity: UInt64?
    var number: Int64
    var body: Data
    var metadata: EntryMetadata
    var checksum: UInt64
    var place: Place
    /// The metadata's form for a row.
    var form: RowMetadata.Form
    /// The bytes after the body in a file of the entry's own.
    var tail: [UInt8] = []
    /// The bytes that the entry counts for itself.
    var own: Int64
    /// The bytes that the entry counts with its body.
    var bytes: Int64
    /// True if the entry confirms stored bytes, and so replaces no newer ones.
    var isConfirmation = false
    /// The time at which the bytes came that were stored when the entry was requested, or `nil` if it replaces any
    /// others.
    var known: Int64?
    var bodyName: BodyName { BodyName(checksum: checksum, size: Int64(body.count)) }
  }

  @discardableResult
  package func store(_ entries: [(key: ResourceKey, entry: CacheEntry)]) throws -> DiskCache.Report {
    try store(entries, packed: [:])
  }

  /// Stores entries like `store(_:)`, some of which are at hand in their packed form and aren't packed anew.
  ///
  /// - Parameters:
  ///   - source: the source of all entries, if the store wasn't opened for it.
  ///   - packed: the bodies of entries that came with a coding, packed by gzip. The caller has unpacked them.
  ///   - confirming: the keys of entries that confirm stored bytes. They replace no newer bytes.
  ///   - known: the times at which the bytes came that were stored when entries were requested. Such an entry replaces
  ///     no others that were requested later.
  @discardableResult
  package func store(
    _ entries: [(key: ResourceKey, entry: CacheEntry)], of source: ResourceSource? = nil,
    packed: [ResourceKey: Data],
    confirming: Set<ResourceKey> = [], known: [ResourceKey: Int64] = [:]
  ) throws -> DiskCache.Report {
    var report = DiskCache.Report()
    var prepared: [Prepared] = []
    var places: [Int64: Int] = [:]
    for (key, entry) in entries {
      var one = prepare(key, entry, packed[key], source?.identity ?? options.identity?(key.source))
      one.isConfirmation = confirming.contains(key)
      one.known = known[key]
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

  private func prepare(
    _ key: ResourceKey, _ entry: CacheEntry, _ packed: Data?, _ identity: UInt64?
  ) -> Prepared {
    let source = sources.source(key.source)
    let entry = layout == .pages ? entry.packed(as: packed) : entry
    let checksum = entry.body.withUnsafeBytes { BodyChecksum.of($0) }
    let form = RowMetadata.Form(entry.metadata, seed: source.seed(checksum))
    var prepared = Prepared(
      key: key, source: source, identity: identity, number: source.number(of: key),
      body: entry.body, metadata: entry.metadata, checksum: checksum, place: .ownFile, form: form, own: 0,
      bytes: 0)
    if layout == .files {
      prepared.tail = EntryFile.tail(key, source, entry.metadata, entry.body, checksum)
      prepared.own = Self.fileBytes(entry.body.count + prepared.tail.count)
      prepared.bytes = prepared.own
      return prepared
    }
    prepared.place = entry.body.count <= Self.largestRow ? .row : .bodyFile
    prepared.own = EntryRow.own(form.bytes.count)
    let cost = EntryRow.cost(Int64(entry.body.count), isFile: prepared.place == .bodyFile)
    prepared.bytes = prepared.own + cost
    return prepared
  }

  /// Returns the bytes that a file of an entry's own counts: whole blocks, and a row in the index.
  static func fileBytes(_ size: Int) -> Int64 { Int64((size + 4095) / 4096 * 4096 + 256) }

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

  private func store(_ entries: ArraySlice<Prepared>, _ report: inout DiskCache.Report) throws {
    var outcome = Outcome()
    // Files of entries' own follow the commit.
    defer { if outcome.replaces { changes.announce() } }
    let bytes = entries.reduce(0) { $0 + $1.bytes }
    do {
      outcome = try put(entries, bytes)
    } catch let error where DiskError.isDiskFull(error) {
      report.evicted += relieve(bytes, keeping: [])
      do { outcome = try put(entries, bytes) } catch let error where DiskError.isDiskFull(error) {
        for entry in entries { report.refused[entry.key] = .diskFull }
        return try sweepIfPossible()
      }
    }
    let failed = try outcome.inFiles.filter { try !isWritten($0) }
    var refused: Set<ResourceKey> = []
    if !failed.isEmpty {
      // The rows of these entries are new, and stay.
      let kept = Set(entries.map(\.number))
      report.evicted += relieve(failed.reduce(0) { $0 + $1.bytes }, keeping: kept)
      for entry in failed where try !isWritten(entry) {
        do { try restore(entry) } catch let error where DiskError.isDiskFull(error) {
          // The row stays and counts a missing file. The metadata is that of the file, which is still the old one.
        }
        refused.insert(entry.key)
      }
    }
    if outcome.leavesFiles { try sweepIfPossible() }
    report.stored += outcome.stored.count - refused.count
    unpacked.add(Int64(outcome.stored.count), ordering: .relaxed)
    noteStored(bytes)
    report.unchanged.formUnion(outcome.unchanged.subtracting(refused))
    report.evicted += outcome.evicted
    for key in refused { report.refused[key] = .diskFull }
    for key in outcome.tooLarge { report.refused[key] = .tooLarge }
    report.outdated.formUnion(outcome.outdated)
    for key in outcome.ofOthers { report.refused[key] = .otherSource }
  }

  private func put(_ entries: ArraySlice<Prepared>, _ bytes: Int64) throws -> Outcome {
    try checkRoom(bytes)
    let (chunk, written, evicted) = try writeBodies(entries)
    var outcome = try write { transaction in
      transaction.awaited = written
      return try transaction.put(chunk)
    }
    outcome.evicted = evicted + outcome.evicted
    outcome.leavesFiles = outcome.leavesFiles || !written.isEmpty
    return outcome
  }

  /// Writes the files of large bodies before the commit that names them, after making room.
  ///
  /// Until that commit the files are noted as unnamed. Bytes whose file has other bytes of equal checksum get a page.
  private func writeBodies(
    _ entries: ArraySlice<Prepared>
  ) throws -> (entries: ArraySlice<Prepared>, written: Set<BodyName>, evicted: [ResourceKey]) {
    let large = entries.indices.filter { entries[$0].place == .bodyFile }
    if large.isEmpty { return (entries, [], []) }
    let (wanted, evicted) = try write { try $0.announceFiles(of: large.map { entries[$0] }) }
    var settled = entries
    var written: Set<BodyName> = []
    for index in large where wanted.contains(entries[index].number) {
      try options.checkDisk(indexPath)
      let entry = entries[index]
      if try files.writeBody(entry.bodyName, entry.body) {
        written.insert(entry.bodyName)
      } else {
        settled[index].place = .row
      }
    }
    return (settled, written, evicted)
  }

  /// Removes noted files that nothing names. Call it with the lock held.
  func sweep() throws {
    try write { transaction in
      for key in try transaction.takeLoose() {
        let source = sources.source(key.source)
        let row = try transaction.row(source.number(of: key))
        if row == nil || row?.body != nil { _ = files.remove(files.path(key, source)) }
      }
      for name in try transaction.takeUnnamed() { files.removeBody(name) }
    }
  }

  /// Removes noted files, or leaves them to the next opening if the disk is full.
  func sweepIfPossible() throws {
    do { try sweep() } catch let error where DiskError.isDiskFull(error) { return }
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
    guard layout == .pages else { return }
    let free = HeldRoom.free(beside: indexPath)
    let log = FileBytes.size(indexPath + "-wal") ?? 0
    guard free < log + 2 * bytes + 512 << 10 else { return }
    let unused = try number("freelist_count") * Int64(pageSize)
    guard free >= log + bytes + max(0, bytes - unused) + 256 << 10 else {
      throw DiskError.make(ENOSPC, indexPath)
    }
  }

  /// Evicts the next entries by the limits' order to free space on a full disk, for the bytes and for the held room.
  /// Returns the evicted keys.
  private func relieve(_ bytes: Int64, keeping kept: Set<Int64>) -> [ResourceKey] {
    // The log may be what fills the disk.
    emptyLog()
    let missing = max(0, 4 * HeldRoom.size - HeldRoom.free(beside: indexPath))
    // If nothing can be evicted, the entries are refused.
    let evicted = (try? evict(bytes: 2 * bytes + missing, keeping: kept)) ?? []
    if !evicted.isEmpty { try? settle() }
    return evicted
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
}
