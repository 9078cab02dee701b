internal import BothyStore
internal import Foundation
internal import GRDB
internal import Synchronization

/// The engine of both stores: an index in SQLite, bodies in its rows or in files, and one lock for all writers.
///
/// The index is correct after a kill at any point and with any number of processes, for three reasons.
/// 1. Every change of entries happens while the lock is held, which the system releases when a process ends.
/// 2. Rows and totals change in one transaction.
/// 3. A file is deleted or gets smaller before the commit that counts the change. A file is created or grows after that
///    commit. A crash therefore leaves too high a count, never too low a one, until the entry is evicted or written
///    again, or until garbage is collected.
package final class IndexedStore: Sendable {
  let sources: SourceBook
  let files: EntryFolder
  let lock: FolderLock
  let options: BlobStoreOptions
  /// The largest size of bodies that are stored in rows, or `nil` if all are in files.
  let largestRow: Int?
  let indexPath: String
  private let currentLimits: Mutex<BlobStoreLimits>
  private let index = Mutex<IndexFile?>(nil)
  let pageSize: Int
  /// True if an index was quarantined since the store was opened.
  private let wasReplaced = Atomic(false)

  /// Opens the store.
  /// - Parameters:
  ///   - folder: the folder of entries' files.
  ///   - indexPath, lockPath: paths in existing folders.
  init(
    folder: String, indexPath: String, lockPath: String, largestRow: Int?, pageSize: Int,
    options: BlobStoreOptions
  ) throws {
    self.options = options
    self.largestRow = largestRow
    self.indexPath = indexPath
    self.pageSize = pageSize
    files = EntryFolder(folder)
    sources = SourceBook(folder: files.tree)
    currentLimits = Mutex(options.limits)
    lock = try FolderLock(lockPath, timeout: options.busyTimeout)
    try lock.writing {
      _ = files.removeUnfinished()
      try reopen(nil)
      if largestRow != nil, try !opened().isReadOnly { try sweepLoose() }
    }
    // After a loss, holders have time to pin again, and on a full disk nothing can be counted. The limits are enforced
    // from the next write on.
    if wasReplaced.load(ordering: .relaxed) { return }
    if try opened().isReadOnly { return }
    do { try apply(options.limits) } catch let error where DiskError.isDiskFull(error) { return }
  }

  var limits: BlobStoreLimits { currentLimits.withLock { $0 } }

  func setLimits(_ limits: BlobStoreLimits) { currentLimits.withLock { $0 = limits } }

  func opened() throws -> IndexFile {
    guard let index = index.withLock({ $0 }) else {
      throw BothyError(.cannotOpen, "The store at \(indexPath) was closed. Open it again to use it.")
    }
    return index
  }

  func close() throws {
    let open = index.withLock { index in
      defer { index = nil }
      return index
    }
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
    let index = try opened()
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
    var index = try opened()
    if index.isReadOnly || !index.isCurrent {
      try reopen(index)
      index = try opened()
    }
    do {
      return try transaction(index, body)
    } catch let error as DatabaseError where Self.isDamage(error) {
      try reopen(index, because: "\(error)")
      return try transaction(try opened(), body)
    }
  }

  private func transaction<Result>(_ index: IndexFile, _ body: (IndexTransaction) throws -> Result) throws
    -> Result
  {
    do {
      return try index.write { database in
        let transaction = try IndexTransaction(
          database, sources, files, limits, hasBodies: largestRow != nil)
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
      if damage != nil && old.isCurrent { try putAway(damage ?? "") }
      // Its readers may still run. It closes when the last one releases it.
    }
    do {
      let fresh = try prepared()
      index.withLock { $0 = fresh }
    } catch let error as DatabaseError where Self.isDamage(error) {
      try putAway("\(error)")
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
      FileBytes.size(indexPath) ?? 0 > 0, (try? IndexSchema.foreignness(ofFile: indexPath)) == .some(nil),
      let kept = try? IndexFile(immutable: indexPath)
    else { return nil }
    // A file whose tables are unreadable is unusable.
    guard (try? kept.read { try IndexSchema.verdict($0) }) == .known else { return nil }
    return kept
  }

  private func prepared() throws -> IndexFile {
    if let reason = try IndexSchema.foreignness(ofFile: indexPath) { try putAway(reason) }
    let fresh = try IndexFile(indexPath, settings)
    switch try fresh.write({ try IndexSchema.verdict($0) }) {
    case .known: break
    case .new: try fresh.write { try IndexSchema.create($0) }
    case .foreign(let reason):
      try fresh.close()
      try putAway(reason)
      let next = try IndexFile(indexPath, settings)
      try next.write { try IndexSchema.create($0) }
      try fill(next)
      return next
    }
    try fill(fresh)
    return fresh
  }

  private var settings: IndexFile.Settings {
    IndexFile.Settings(
      pageSize: pageSize, busyTimeout: options.busyTimeout,
      logPages: Self.logPages(limits, pageSize: pageSize), lookups: largestRow == nil ? 0 : 3)
  }

  static func logPages(_ limits: BlobStoreLimits, pageSize: Int) -> Int {
    let bytes = limits.bytes.map { IndexTransaction.reserve($0) / 4 } ?? (4 << 20)
    return max(16, Int(bytes) / pageSize)
  }

  /// Quarantines an unusable file under a new name, replacing an earlier quarantined one, and reports it.
  private func putAway(_ reason: String) throws {
    let place = "\(indexPath).corrupt-\(Int64(Date().timeIntervalSince1970 * 1000))"
    _ = removePutAway()
    guard rename(indexPath, place) == 0 else { throw DiskError.last(indexPath) }
    // The log has the last writes, so it is moved with its file.
    if rename(indexPath + "-wal", place + "-wal") != 0 { unlink(indexPath + "-wal") }
    unlink(indexPath + "-shm")
    wasReplaced.store(true, ordering: .relaxed)
    options.onEvent?(.recreated(file: indexPath, movedTo: place, reason: reason))
  }

  /// Deletes quarantined files.
  func removePutAway() -> (files: Int, bytes: Int64) {
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

extension BlobStoreOptions {
  /// Throws the error of a full disk if the test kit simulates one.
  func checkDisk(_ path: String) throws {
    if let isDiskFull, isDiskFull() { throw DiskError.make(ENOSPC, path) }
  }
}
