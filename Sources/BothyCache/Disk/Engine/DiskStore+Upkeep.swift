internal import BothyStore
internal import Foundation
internal import GRDB

/// Maintenance: verification of entries, recomputing of the totals, garbage collection.
extension DiskStore {
  func verify(progress: (Int) -> Void) throws -> VerifyReport {
    var report = VerifyReport()
    var last: Int64?
    while true {
      let page = try page(after: last, nil)
      guard let end = page.last else { return report }
      for listed in page {
        try verify(listed, &report)
        progress(report.checked)
      }
      last = end.row.number
    }
  }

  private func verify(_ listed: Listed, _ report: inout VerifyReport) throws {
    switch try check(listed.key) {
    case .here: break
    case .damaged: report.damaged.append(listed.key)
    case .large, .inFile, .nothing: try forgetMissingFile(listed)
    }
    report.checked += 1
  }

  /// The bytes after which `checkNext` returns.
  private static let checkedAtOnce: Int64 = 1 << 20

  /// Returns true if pinned entries are to be checked: after a kill, and a month after the last check.
  func isCheckDue(at now: Int64) -> Bool { use.isDue(at: now) }

  /// Checks the next pinned entries, in the order of their numbers. Returns the bytes that were read, or `nil` at the
  /// end.
  func checkNext(at now: Int64) throws -> Int64? {
    // An index that is read without its log may lack entries, and can't lose any. The next opening continues.
    guard let last = use.next, try !opened().isReadOnly else { return nil }
    var page = try self.page(after: last, nil)
    // The first read may find a damaged index, and the second one reads its replacement.
    if page.isEmpty { page = try self.page(after: last, nil) }
    guard let end = page.last else {
      use.advance(to: nil, at: now)
      return nil
    }
    var report = VerifyReport()
    var (bytes, number) = (Int64(0), end.row.number)
    for listed in page where listed.row.isPinned {
      try verify(listed, &report)
      bytes += listed.row.size
      if bytes >= Self.checkedAtOnce {
        number = listed.row.number
        break
      }
    }
    use.advance(to: number, bytes: bytes, at: now)
    return bytes
  }

  /// Deletes the row of an entry whose file never received its name.
  private func forgetMissingFile(_ listed: Listed) throws {
    guard listed.row.body == nil else { return }
    try lock.writing {
      let path = files.path(listed.key, sources.source(listed.key.source))
      guard try FileBytes.end(path, 0) == nil else { return }
      try write { transaction in
        if let row = try transaction.row(listed.row.number), row.body == nil { try transaction.delete(row) }
      }
    }
  }

  func collectGarbage() throws -> GarbageReport {
    var report = GarbageReport()
    try lock.writing {
      for removed in [files.removeUnfinished(), removeQuarantined(), removeOldNewer()] {
        report.removedFiles += removed.files
        report.freedBytes += removed.bytes
      }
    }
    // On a full disk, what needs room in the index waits for the next collection.
    do {
      try forEachListed { listed in
        if listed.row.body == nil { try forgetMissingFile(listed) }
      }
      try removeUnnamedFiles(&report)
      try recount()
      try removeUnnamedBodies(&report)
      try foldAll()
      try shrink()
    } catch let error where DiskError.isDiskFull(error) {
      return report
    }
    return report
  }

  private func forEachListed(_ body: (Listed) throws -> Void) throws {
    var last: Int64?
    while true {
      let page = try page(after: last, nil)
      guard let end = page.last else { return }
      for listed in page { try body(listed) }
      last = end.row.number
    }
  }

  private func removeUnnamedFiles(_ report: inout GarbageReport) throws {
    var paths: [[UInt8]] = []
    _ = try files.forEachFile { paths.append($0) }
    for part in paths.parts(of: 256) {
      try lock.writing {
        for path in part {
          guard let (end, size) = try FileBytes.end(path, 0) else { continue }
          end.free()
          let file = try files.describe(path, sources)
          // A newer version may have the form of a file that can't be read.
          let isKnown = try file.map { try reconcile($0, at: path) } ?? hasNewer
          if isKnown { continue }
          _ = files.remove(path)
          report.removedFiles += 1
          report.freedBytes += Int64(size)
        }
      }
    }
  }

  /// Updates the row from the file. Returns false if no row names the file. Call it with the lock held.
  private func reconcile(_ file: EntryFolder.Description, at path: [UInt8]) throws -> Bool {
    let source = sources.source(file.key.source)
    guard files.path(file.key, source) == path else { return false }
    return try write { transaction in
      guard let row = try transaction.row(source.number(of: file.key)), row.name == file.key.name,
        row.body == nil
      else { return false }
      if row.checksum != file.bodyChecksum || row.bytes != Self.fileBytes(file.fileSize) {
        try transaction.adopt(file)
      }
      return true
    }
  }

  /// Deletes files of bodies that no entry names.
  private func removeUnnamedBodies(_ report: inout GarbageReport) throws {
    try lock.writing {
      try sweep()
      let gone = try write { transaction in
        var gone: [(path: [UInt8], size: Int64)] = []
        try files.forEachBody { path, name in
          if let name, try hasNewer || transaction.isNamed(name) { return }
          gone.append((path, FileBytes.size(path.pathText) ?? 0))
        }
        return gone
      }
      for file in gone where file.path.withPath({ unlink($0) }) == 0 {
        report.removedFiles += 1
        report.freedBytes += file.size
      }
    }
  }

  /// Joins all pages with little left in them, four a transaction.
  private func foldAll() throws {
    var isMore = true
    while isMore { isMore = try lock.writing { try write { try $0.foldOnce() } } }
  }

  /// Recomputes what follows from the entries: who bears a body, what is pinned, and the totals. Deletes bodies, pages and
  /// frames without an entry.
  private func recount() throws {
    try lock.writing {
      let folders = try files.forEachFile { _ in }
      try write { transaction in
        try transaction.database.execute(
          sql: """
            DELETE FROM body WHERE id NOT IN (SELECT body FROM entry WHERE body IS NOT NULL);
            DELETE FROM page WHERE id NOT IN (SELECT page FROM body WHERE page IS NOT NULL);
            UPDATE page SET live = t.live
            FROM (SELECT page AS number, sum(size + 1) AS live FROM body WHERE page IS NOT NULL GROUP BY page) AS t
            WHERE t.number = page.id AND page.live IS NOT NULL;
            DELETE FROM frame WHERE id NOT IN (SELECT frame FROM entry WHERE frame IS NOT NULL);
            UPDATE entry SET pinned = 1 - pinned WHERE pinned <> EXISTS (
              SELECT 1 FROM pin p WHERE p.block = entry.id & -256 AND p.mask >> (entry.id >> 2 & 63) & 1 = 1
            );
            UPDATE entry SET bears = 1 - bears WHERE bears <> (body IS NULL OR id IN (
              SELECT id FROM (
                SELECT id, row_number() OVER (PARTITION BY body ORDER BY bears DESC, pinned DESC, id) AS place
                FROM entry WHERE body IS NOT NULL
              ) WHERE place = 1
            ));
            UPDATE source SET count = 0, bytes = 0, pinnedCount = 0, pinnedBytes = 0;
            UPDATE source SET count = t.count, bytes = t.bytes, pinnedCount = t.pinnedCount, pinnedBytes = t.pinnedBytes
            FROM (
              SELECT e.source AS number, count(*) AS count, sum(\(EntryRow.counted)) AS bytes,
                sum(e.pinned) AS pinnedCount, sum(e.pinned * \(EntryRow.counted)) AS pinnedBytes
              FROM \(EntryRow.tables) GROUP BY e.source
            ) AS t WHERE t.number = source.id;
            """)
        try transaction.recount(folders: Int64(folders))
      }
    }
  }

  /// Copies the database, and the files of large entries beside it.
  func export(to path: String) throws {
    guard FileBytes.size(path) == nil else {
      throw BothyError(.alreadyExists, "There is a file at \(path). Choose another path or remove it.")
    }
    try lock.writing {
      do { try opened().copy(to: path) } catch { throw sentence(error) }
      let target = EntryFolder(path + "-large")
      _ = try files.forEachFile { file in
        guard let content = try FileBytes.whole(file) else { return }
        let copy = Array(target.tree.utf8) + file.dropFirst(files.tree.utf8.count)
        let data = content.data(content.bytes.count)
        _ = try target.makeFolders(above: copy)
        try target.write(copy, data, [])
      }
      try files.forEachBody { file, name in
        guard let name, let body = try files.body(name) else { return }
        _ = try target.writeBody(name, body)
      }
    }
  }

  /// Fills a new index from the existing files, and from a quarantined index.
  func fill(_ index: IndexFile) throws {
    let isComplete = try index.write { database in
      try Int64.fetchOne(database, sql: "SELECT complete FROM state") == 1
    }
    if isComplete { return forgetSalvage() }
    try files.prepare(isUsed: layout == .files)
    var found: [(time: Int64, path: [UInt8])] = []
    let folders = try files.forEachFile { path in
      if let file = try files.describe(path, sources) {
        found.append((file.metadata.validatedAt, path))
      } else if !hasNewer {
        _ = files.remove(path)
      }
    }
    found.sort { $0.time < $1.time }
    try index.write {
      try $0.execute(
        sql: """
          DELETE FROM entry; DELETE FROM body; DELETE FROM page; DELETE FROM pin; DELETE FROM holder;
          DELETE FROM source; UPDATE state SET count = 0, bytes = 0
          """)
    }
    let salvaged = try salvage(into: index)
    let pinned = Set(salvaged.inFiles.filter(\.isPinned).map(\.number))
    for part in found.parts(of: 512) {
      try change(index) { transaction in
        for one in part {
          guard let file = try files.describe(one.path, sources) else { continue }
          try transaction.adopt(file, pinned: pinned)
        }
      }
    }
    try noteLoss(salvaged, in: index)
    try index.write { try $0.execute(sql: "UPDATE state SET complete = 1, folders = \(folders)") }
    endSalvage(salvaged)
    // Unreadable entries of a newer index may name the other bodies.
    if hasNewer { return }
    try change(index) { transaction in
      try files.forEachBody { path, name in
        if let name, try transaction.isNamed(name) { return }
        path.withPath { _ = unlink($0) }
      }
    }
  }
}

extension IndexTransaction {
  /// Recomputes the totals from the rows.
  func recount(folders: Int64) throws {
    let sums = try PreparedStatement(
      "SELECT coalesce(sum(count - pinnedCount), 0), coalesce(sum(bytes - pinnedBytes), 0) FROM source",
      in: database)
    guard try sums.step() else { return }
    setTotals(count: sums.int(at: 0), bytes: sums.int(at: 1))
    self.folders = folders
    sums.reset()
  }
}
