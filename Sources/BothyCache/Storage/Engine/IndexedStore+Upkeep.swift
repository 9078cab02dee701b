internal import BothyStore
internal import Foundation
internal import GRDB

/// Maintenance: verification of all entries, recomputing of the totals, garbage collection.
extension IndexedStore {
  func verify(progress: (Int) -> Void) throws -> VerifyReport {
    var report = VerifyReport()
    var last: Int64?
    while true {
      let page = try page(after: last, nil)
      guard let end = page.last else { return report }
      for listed in page {
        switch try check(listed.key) {
        case .here: break
        case .damaged: report.damaged.append(listed.key)
        case .inFile, .nothing: try forgetMissingFile(listed)
        }
        report.checked += 1
        progress(report.checked)
      }
      last = end.row.number
    }
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
      for removed in [files.removeUnfinished(), removePutAway()] {
        report.removedFiles += removed.files
        report.freedBytes += removed.bytes
      }
    }
    try forEachListed { listed in
      if listed.row.body == nil { try forgetMissingFile(listed) }
    }
    try removeUnnamedFiles(&report)
    try recount()
    try shrink()
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
          let isKnown = try file.map { try reconcile($0, at: path) } ?? false
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

  /// Recomputes the totals, and deletes bodies without an entry.
  private func recount() throws {
    try lock.writing {
      let folders = try files.forEachFile { _ in }
      try write { transaction in
        try transaction.database.execute(
          sql: """
            DELETE FROM body WHERE id NOT IN (SELECT body FROM entry WHERE body IS NOT NULL);
            DELETE FROM shared;
            INSERT INTO shared SELECT body, count(*) FROM entry WHERE body IS NOT NULL GROUP BY body HAVING count(*) > 1;
            UPDATE entry SET pinned = 1 - pinned WHERE pinned <> ((id & -4) IN (SELECT entry FROM pin));
            UPDATE source SET count = 0, bytes = 0, pinnedCount = 0, pinnedBytes = 0;
            UPDATE source SET count = t.count, bytes = t.bytes, pinnedCount = t.pinnedCount, pinnedBytes = t.pinnedBytes
            FROM (
              SELECT source AS number, count(*) AS count, sum(bytes) AS bytes, sum(pinned) AS pinnedCount,
                sum(pinned * bytes) AS pinnedBytes FROM entry GROUP BY source
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
    }
  }

  /// Fills a new index from the existing files. Bodies in rows were lost with the old index.
  func fill(_ index: IndexFile) throws {
    let isComplete = try index.write { database in
      try Int64.fetchOne(database, sql: "SELECT complete FROM state") == 1
    }
    if isComplete { return }
    try files.prepare(isUsed: largestRow == nil)
    var found: [(time: Int64, path: [UInt8])] = []
    var folders = 0
    if largestRow == nil {
      folders = try files.forEachFile { path in
        if let file = try files.describe(path, sources) {
          found.append((file.metadata.validatedAt, path))
        } else {
          _ = files.remove(path)
        }
      }
      found.sort { $0.time < $1.time }
    } else {
      try files.removeAll()
    }
    try index.write {
      try $0.execute(
        sql: """
          DELETE FROM entry; DELETE FROM pin; DELETE FROM holder; DELETE FROM source;
          UPDATE state SET count = 0, bytes = 0
          """)
    }
    try salvagePins(into: index)
    for part in found.parts(of: 512) {
      try index.write { database in
        let transaction = try IndexTransaction(database, sources, files, limits, hasBodies: false)
        for one in part {
          if let file = try files.describe(one.path, sources) { try transaction.adopt(file) }
        }
        try transaction.finish()
      }
    }
    try index.write { try $0.execute(sql: "UPDATE state SET complete = 1, folders = \(folders)") }
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
