internal import BothyStore
internal import Foundation
internal import GRDB
internal import Synchronization

/// What both stores are made of: an index in SQLite, bodies in its rows or in files of their own, one lock for all who
/// write.
///
/// The index is true after a kill at any point, and with any number of processes, because
/// 1. every change of what is stored happens while the lock is held, which the system takes back from the dead;
/// 2. rows and totals change in one transaction;
/// 3. a file that goes, or gets smaller, does so before the commit that forgets it, and one that comes or grows gets its
///    name after the commit that counts it. What a crash leaves is counted too high, never too low, until the entry is
///    evicted or written again, or garbage is collected.
final class IndexedStore: Sendable {
  let sources: SourceBook
  let files: EntryFolder
  let lock: FolderLock
  let options: BlobStoreOptions
  /// Bodies up to this size lie in rows; nil when all lie in files.
  let largestRow: Int?
  let indexPath: String
  private let currentLimits: Mutex<BlobStoreLimits>
  private let index = Mutex<IndexFile?>(nil)
  let pageSize: Int
  /// Whether an index was put away since the store was opened.
  private let wasReplaced = Atomic(false)

  /// - Parameters:
  ///   - folder: where files of entries lie.
  ///   - indexPath, lockPath: in folders that exist.
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
    // After a loss holders get the time to pin again, and on a full disk nothing can be counted: the limits hold from the
    // next write on.
    if wasReplaced.load(ordering: .relaxed) { return }
    if try opened().isReadOnly { return }
    do { try apply(options.limits) } catch let error where DiskError.isDiskFull(error) { return }
  }

  var limits: BlobStoreLimits { currentLimits.withLock { $0 } }

  func setLimits(_ limits: BlobStoreLimits) { currentLimits.withLock { $0 = limits } }

  func opened() throws -> IndexFile {
    guard let index = index.withLock({ $0 }) else {
      throw StoreError(.cannotOpen, "The store at \(indexPath) was closed. Open it again to use it.")
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

  /// Reads the index. A damaged one is begun anew, and the answer is nil.
  ///
  /// - Parameter isLocked: whether the caller holds the lock.
  func read<Result>(isLocked: Bool = false, _ body: (Database) throws -> Result?) throws -> Result? {
    try reading(isLocked: isLocked) { try $0.read(body) }
  }

  /// The same for what goes about the reading in its own way.
  func reading<Result>(isLocked: Bool, _ body: (IndexFile) throws -> Result?) throws -> Result? {
    let index = try opened()
    do {
      return try body(index)
    } catch let error as DatabaseError where Self.isDamage(error) {
      // Seen without its log the file may look damaged that is not.
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

  /// Runs one transaction. The lock is to be held. A damaged index is begun anew, once.
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

  /// Runs statements on the index that stand outside transactions.
  func maintain(_ sql: String) throws {
    do { try opened().maintain(sql) } catch { throw sentence(error) }
  }

  /// The value of a pragma that is a number.
  func number(_ pragma: String) throws -> Int64 {
    do {
      return try opened().read { try Int64.fetchOne($0, sql: "PRAGMA \(pragma)") } ?? 0
    } catch { throw sentence(error) }
  }

  func sentence(_ error: any Error) -> any Error {
    error is DatabaseError ? StoreError(error, path: indexPath) : error
  }

  private static func isDamage(_ error: DatabaseError) -> Bool {
    error.resultCode == .SQLITE_CORRUPT || error.resultCode == .SQLITE_NOTADB
  }

  /// Opens the index, makes it if need be, puts one away that is of no use. The lock is to be held.
  ///
  /// - Parameters:
  ///   - old: the one that was open; nothing happens when somebody else has opened another since.
  ///   - damage: why the old one is of no use.
  private func reopen(_ old: IndexFile?, because damage: String? = nil) throws {
    if let old {
      guard index.withLock({ $0 === old }) else { return }
      if damage != nil && old.isCurrent { try putAway(damage ?? "") }
      // Its readers may still be at work; it closes when the last has let go of it.
    }
    do {
      let fresh = try prepared()
      index.withLock { $0 = fresh }
    } catch let error as DatabaseError where Self.isDamage(error) {
      try putAway("\(error)")
      let fresh = try prepared()
      index.withLock { $0 = fresh }
    } catch {
      // What is stored is read on where nothing can be written; the next write tries again.
      guard old == nil, let kept = asItLies(error) else { throw sentence(error) }
      index.withLock { $0 = kept }
    }
  }

  /// The index for reading alone, without its log and locks: on a full disk or one that may not be written SQLite can't
  /// make what it needs beside the file. Nil when there is no index of this format, or it failed for another reason.
  private func asItLies(_ error: any Error) -> IndexFile? {
    let codes: [ResultCode] = [.SQLITE_FULL, .SQLITE_IOERR, .SQLITE_CANTOPEN, .SQLITE_READONLY]
    guard let failure = error as? DatabaseError, codes.contains(failure.resultCode),
      FileBytes.size(indexPath) ?? 0 > 0, (try? IndexSchema.foreignness(ofFile: indexPath)) == .some(nil),
      let kept = try? IndexFile(immutable: indexPath)
    else { return nil }
    // One whose tables can't be read is of no use.
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

  /// Renames a file that is of no use, in the place of one that was put away before, and tells of it.
  private func putAway(_ reason: String) throws {
    let place = "\(indexPath).corrupt-\(Int64(Date().timeIntervalSince1970 * 1000))"
    _ = removePutAway()
    guard rename(indexPath, place) == 0 else { throw DiskError.last(indexPath) }
    // What was written last is in the log, which goes with its file.
    if rename(indexPath + "-wal", place + "-wal") != 0 { unlink(indexPath + "-wal") }
    unlink(indexPath + "-shm")
    wasReplaced.store(true, ordering: .relaxed)
    options.onEvent?(.recreated(file: indexPath, movedTo: place, reason: reason))
  }

  /// Removes what was put away before.
  func removePutAway() -> (files: Int, bytes: Int64) {
    let folder = (indexPath as NSString).deletingLastPathComponent
    let name = (indexPath as NSString).lastPathComponent
    var removed = (files: 0, bytes: Int64(0))
    // Unreadable: nothing to clear.
    for other in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    where other.hasPrefix(name + ".corrupt-") {
      removed.bytes += FileBytes.size("\(folder)/\(other)") ?? 0
      if unlink("\(folder)/\(other)") == 0 { removed.files += 1 }
    }
    return removed
  }
}

extension BlobStoreOptions {
  /// Throws what a full disk throws when the test kit says that it is full.
  func checkDisk(_ path: String) throws {
    if let isDiskFull, isDiskFull() { throw DiskError.make(ENOSPC, path) }
  }
}
