internal import BothyStore
internal import Foundation
internal import GRDB
internal import Synchronization

/// A store on disk: an index in SQLite, bodies in its pages or in files, and one lock for all writers.
///
/// The index is correct after a kill at any point and with any number of processes, for three reasons.
/// 1. Every change of entries happens while the lock is held, which the system releases when a process ends.
/// 2. Rows, pages and totals change in one transaction.
/// 3. The file of a body is written before the commit that names it, and goes after the one that ends its last name. It
///    is noted as unnamed before, and the next opening of the store deletes it. An entry's own file is deleted or gets
///    smaller before the commit that counts the change, and is created or grows after it. A crash therefore leaves too
///    high a count, never too low a one.
package final class DiskStore: DiskCache.Store {
  /// The largest body in a page. A few larger ones fill the log, and files are read equally fast.
  static let largestRow = 96 << 10

  /// The place of a store's entries.
  package enum Layout: Sendable {
    /// Each entry in a file of its own, which other programs can open: `{folder}/tiledb/{source}/{path}`.
    ///
    /// A hit takes one open, one read and one close. The disk rounds each file up to a block of 4 KB, which is counted.
    case files
    /// Equal bytes once, in pages of the index, or in a file from 96 KB on.
    ///
    /// A hit reads one row, and one file more for a large body.
    case pages
  }

  let sources: SourceBook
  let files: EntryFolder
  let lock: FolderLock
  let use: StoreUse
  /// The replacements and removals of entries by all processes.
  let changes: ChangeCount
  let options: DiskCache.Options
  let layout: Layout
  let indexPath: String
  private let currentLimits: Mutex<DiskCache.Limits>
  private let index = Mutex<IndexFile?>(nil)
  let pageSize: Int
  /// The highest rank that the limits don't evict. See `noteLoss(_:in:)`.
  let keptRank = Atomic(Int64.min)
  /// True if entries have their bytes in pages, also those of another layout.
  private let usesPages = Atomic(false)
  /// The number of entries that were written since the table of entries was packed.
  let unpacked = Atomic<Int64>(0)
  let room: HeldRoom
  /// True during a removal that the disk had no room for.
  let isShort = Atomic(false)
  /// The bytes that were stored since the held room was last looked at.
  let unheld = Atomic<Int64>(0)

  /// Opens the store in `folder`, with its index in `index.sqlite`. Creates the folder if needed.
  ///
  /// A folder may be opened with either layout, but not with both at a time. Entries stay where they are until they are
  /// replaced. If the index is lost, damaged or of a newer version, it is recreated from the entries' own files, with
  /// the pins and entries in it as far as they are readable. The cost does not depend on the number of entries, unless
  /// the limits are lower than before or the index is recreated. Throws `BothyError`.
  package convenience init(
    folder: String, layout: Layout = .files, options: DiskCache.Options = DiskCache.Options()
  ) throws {
    try PrivateFolder.make(layout == .files ? folder + "/tiledb" : folder)
    try CacheFolder.mark(folder)
    try self.init(
      folder: folder, indexPath: folder + "/index.sqlite", lockPath: folder + "/lock", layout, pageSize: 4096,
      options)
  }

  /// Opens or creates a store in one SQLite file at `path`, and in files beside it (`{path}-large`).
  ///
  /// Creates the folder if needed. Costs and errors are those of `init(folder:layout:options:)`.
  package convenience init(path: String, options: DiskCache.Options = DiskCache.Options()) throws {
    try self.init(path: path, options: options, pageSize: 4096)
  }

  package convenience init(path: String, options: DiskCache.Options, pageSize: Int) throws {
    let folder = (path as NSString).deletingLastPathComponent
    if !folder.isEmpty { try PrivateFolder.make(folder) }
    try self.init(
      folder: path + "-large", indexPath: path, lockPath: path + "-lock", .pages, pageSize: pageSize, options)
    CacheFolder.exclude(path)
  }

  /// Opens the store.
  /// - Parameters:
  ///   - folder: the folder of entries' files.
  ///   - indexPath, lockPath: paths in existing folders.
  ///   - pageSize: the size of the pages of a new index.
  private init(
    folder: String, indexPath: String, lockPath: String, _ layout: Layout, pageSize: Int,
    _ options: DiskCache.Options
  ) throws {
    self.options = options
    self.layout = layout
    self.indexPath = indexPath
    room = HeldRoom(path: indexPath + "-room")
    self.pageSize = try IndexSchema.pageSize(ofFile: indexPath) ?? pageSize
    files = EntryFolder(folder)
    sources = SourceBook(folder: files.tree)
    currentLimits = Mutex(options.limits)
    let lock = try FolderLock(lockPath, timeout: options.busyTimeout)
    self.lock = lock
    use = try lock.writing { StoreUse(indexPath + "-use", log: indexPath + "-wal") }
    changes = try lock.writing { ChangeCount(lock, options) }
    try lock.writing {
      _ = files.removeUnfinished()
      try reopen(nil)
      let isNoted = try read(isLocked: true) { database in
        try Bool.fetchOne(
          database, sql: "SELECT EXISTS (SELECT 1 FROM loose) OR EXISTS (SELECT 1 FROM unnamed)")
      }
      if try isNoted == true && !opened().isReadOnly { try sweepIfPossible() }
    }
    if try opened().isReadOnly { return }
    // On a full disk nothing can be counted. The limits are enforced from the next write on.
    do { try apply(options.limits) } catch let error where DiskError.isDiskFull(error) { return }
  }

  var limits: DiskCache.Limits { currentLimits.withLock { $0 } }

  func setLimits(_ limits: DiskCache.Limits) { currentLimits.withLock { $0 = limits } }

  func opened() throws -> IndexFile {
    guard let index = index.withLock({ $0 }) else {
      throw BothyError(.cannotOpen, "The store at \(indexPath) was closed. Open it again to use it.")
    }
    return index
  }

  package func close() throws {
    // A table that isn't packed is only larger. A closed store has none.
    try? pack()
    let open = index.withLock { index in
      defer { index = nil }
      return index
    }
    // Until the index is closed, the store counts as used.
    defer { use.end() }
    try open?.close()
  }

  // MARK: the index

  /// Reads the index. If it is damaged, recreates it and returns `nil`.
  ///
  /// - Parameter isLocked: true if the caller holds the lock.
  func read<Result>(isLocked: Bool = false, _ body: (Database) throws -> Result?) throws -> Result? {
    try reading(isLocked: isLocked) { try $0.read(body) }
  }

  /// Like `read(isLocked:_:)`, but passes the index file instead of a database.
  func reading<Result>(isLocked: Bool, _ body: (IndexFile) throws -> Result?) throws -> Result? {
    // A read with the lock held is followed by a write, into the file that is there now.
    let index = try isLocked ? current() : opened()
    do {
      return try body(index)
    } catch let error as DatabaseError where Self.isDamage(error) {
      // A file that is read without its log may only appear damaged.
      if index.isReadOnly { return nil }
      if isLocked {
        try reopen(index, because: "\(error)")
      } else {
        try lock.writing { try reopen(index, because: "\(error)") }
      }
      return nil
    } catch {
      throw sentence(error)
    }
  }

  /// Runs one transaction. Call it with the lock held. A damaged index is recreated once.
  func write<Result>(_ body: (IndexTransaction) throws -> Result) throws -> Result {
    let index = try current(toWrite: true)
    do {
      return try transaction(index, body)
    } catch let error as DatabaseError where Self.isDamage(error) {
      try reopen(index, because: "\(error)")
      return try transaction(try opened(), body)
    }
  }

  /// Returns the index that is at its path now, as another process may have replaced a damaged one. Call it with the lock
  /// held.
  private func current(toWrite: Bool = false) throws -> IndexFile {
    let index = try opened()
    if index.isCurrent, !toWrite || !index.isReadOnly { return index }
    try reopen(index)
    return try opened()
  }

  private func transaction<Result>(_ index: IndexFile, _ body: (IndexTransaction) throws -> Result) throws
    -> Result
  {
    do {
      return try index.write { database in
        let transaction = try IndexTransaction(
          database, sources, files, limits, hasBodies: layout == .pages, index.frames)
        transaction.keptRank = keptRank.load(ordering: .relaxed)
        if limits.bytes != nil { transaction.held = room.bytes }
        transaction.joinsPages = !isShort.load(ordering: .relaxed)
        let result = try body(transaction)
        try transaction.finish()
        try options.checkDisk(indexPath)
        return result
      }
    } catch {
      if let error = error as? DatabaseError, Self.isDamage(error) { throw error }
      throw sentence(error)
    }
  }

  /// Runs statements on the index outside transactions.
  func maintain(_ sql: String) throws {
    do { try opened().maintain(sql) } catch { throw sentence(error) }
  }

  /// Returns the value of a pragma that is a number.
  func number(_ pragma: String) throws -> Int64 {
    do {
      return try opened().read { try Int64.fetchOne($0, sql: "PRAGMA \(pragma)") } ?? 0
    } catch { throw sentence(error) }
  }

  func sentence(_ error: any Error) -> any Error {
    error is DatabaseError ? BothyError(error, path: indexPath) : error
  }

  private static func isDamage(_ error: DatabaseError) -> Bool {
    error.resultCode == .SQLITE_CORRUPT || error.resultCode == .SQLITE_NOTADB
  }

  /// Opens the index. Creates it if needed, and quarantines an unusable one. Call it with the lock held.
  ///
  /// - Parameters:
  ///   - old: the index that was open. Does nothing if another thread has opened a new one since.
  ///   - damage: the reason why the old index is unusable.
  private func reopen(_ old: IndexFile?, because damage: String? = nil) throws {
    if let old {
      guard index.withLock({ $0 === old }) else { return }
      if damage != nil && old.isCurrent { try quarantine(damage ?? "") }
      // Its readers may still run. It closes when the last one releases it.
    }
    do {
      let fresh = try prepared()
      index.withLock { $0 = fresh }
    } catch let error as DatabaseError where Self.isDamage(error) {
      try quarantine("\(error)")
      let fresh = try prepared()
      index.withLock { $0 = fresh }
    } catch {
      // If nothing can be written, entries are still read. The next write tries again.
      guard old == nil, let kept = asItLies(error) else { throw sentence(error) }
      index.withLock { $0 = kept }
    }
  }

  /// Opens the index read-only, without its log and locks, or returns `nil`.
  ///
  /// On a full or read-only disk, SQLite can't create the files that it needs beside the index. Returns `nil` if the
  /// file isn't an index of this format, or if it failed for another reason.
  private func asItLies(_ error: any Error) -> IndexFile? {
    let codes: [ResultCode] = [.SQLITE_FULL, .SQLITE_IOERR, .SQLITE_CANTOPEN, .SQLITE_READONLY]
    guard let failure = error as? DatabaseError, codes.contains(failure.resultCode),
      FileBytes.size(indexPath) ?? 0 > 0, (try? IndexSchema.foreignness(ofFile: indexPath)) == nil,
      let kept = try? IndexFile(immutable: indexPath)
    else { return nil }
    // A file whose tables are unreadable is unusable.
    guard (try? kept.read { try IndexSchema.verdict($0) }) == .known else { return nil }
    return kept
  }

  private func prepared() throws -> IndexFile {
    if let found = try IndexSchema.foreignness(ofFile: indexPath) {
      try quarantine(found.reason, isNewer: found.isNewer)
    }
    var fresh = try IndexFile(indexPath, settings)
    let verdict = try fresh.write { database in
      try IndexSchema.addIdentities(database)
      return try IndexSchema.verdict(database)
    }
    switch verdict {
    case .known: break
    case .new: try fresh.write { try IndexSchema.create($0) }
    case .older: try IndexTakeover(fresh, sources, files, options, hasBodies: layout == .pages).run()
    case .foreign(let reason, let isNewer):
      try fresh.close()
      try quarantine(reason, isNewer: isNewer)
      fresh = try IndexFile(indexPath, settings)
      try fresh.write { try IndexSchema.create($0) }
    }
    try fill(fresh)
    try takeBack(into: fresh)
    keptRank.store(rankAtLoss(), ordering: .relaxed)
    let hasPages = try fresh.read { try Bool.fetchOne($0, sql: "SELECT EXISTS (SELECT 1 FROM body)") }
    usesPages.store(layout == .pages || hasPages == true, ordering: .relaxed)
    return fresh
  }

  /// True if a look-up may find bytes in the index.
  var readsRows: Bool { usesPages.load(ordering: .relaxed) }

  private var settings: IndexFile.Settings {
    IndexFile.Settings(
      pageSize: pageSize, busyTimeout: options.busyTimeout,
      logPages: Self.logPages(limits, pageSize: pageSize))
  }

  static func logPages(_ limits: DiskCache.Limits, pageSize: Int) -> Int {
    let bytes = limits.bytes.map { IndexTransaction.reserve($0) / 4 } ?? (4 << 20)
    return max(16, Int(bytes) / pageSize)
  }

  /// Quarantines an unusable file under a new name, replacing an earlier quarantined one, and reports it.
  ///
  /// An earlier one that is still being copied stays, in place of the file that it was copied to.
  private func quarantine(_ reason: String, isNewer: Bool = false) throws {
    if !isNewer, let first = dropUnfilled() {
      options.onEvent?(.recreated(file: indexPath, movedTo: first, reason: reason))
      return
    }
    let place =
      isNewer ? newerPlace : "\(indexPath).corrupt-\(Int64(Date().timeIntervalSince1970 * 1000))"
    _ = removeQuarantined()
    if isNewer { removeNewer() }
    noteSalvage(of: place)
    guard rename(indexPath, place) == 0 else { throw DiskError.last(indexPath) }
    // The log has the last writes, so it is moved with its file.
    if rename(indexPath + "-wal", place + "-wal") != 0 { unlink(indexPath + "-wal") }
    unlink(indexPath + "-shm")
    options.onEvent?(.recreated(file: indexPath, movedTo: place, reason: reason))
  }

  /// Deletes quarantined files.
  func removeQuarantined() -> (files: Int, bytes: Int64) {
    let folder = (indexPath as NSString).deletingLastPathComponent
    let name = (indexPath as NSString).lastPathComponent
    var removed = (files: 0, bytes: Int64(0))
    // An unreadable folder has no files to delete.
    for other in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    where other.hasPrefix(name + ".corrupt-") {
      removed.bytes += FileBytes.size("\(folder)/\(other)") ?? 0
      if unlink("\(folder)/\(other)") == 0 { removed.files += 1 }
    }
    return removed
  }
}

extension DiskCache.Options {
  /// Throws the error of a full disk if the test kit simulates one.
  func checkDisk(_ path: String) throws {
    if let isDiskFull, isDiskFull() { throw DiskError.make(ENOSPC, path) }
  }
}
