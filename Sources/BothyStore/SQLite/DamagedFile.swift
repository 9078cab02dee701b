import Foundation
import GRDB

/// The treatment of a file that is damaged, or may be, when it is opened.
package enum DamagedFile {
  /// True if damage was found in the file since its last full check. A small file beside it records that.
  static func isSuspect(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path + suspicion) }

  /// Makes the next opening check every page before it uses the file.
  static func suspect(_ path: String) {
    // If the folder can't be written, the damage is found again when its page is read again.
    _ = FileManager.default.createFile(atPath: path + suspicion, contents: nil)
  }

  /// True if an error, or one that it reports, is SQLite's about a damaged page.
  static func isReported(by error: any Error) -> Bool {
    guard let known = error as? BothyError else {
      return (error as? DatabaseError)?.resultCode == .SQLITE_CORRUPT
    }
    return known.code == .corrupt || known.underlying.map(isReported) ?? false
  }

  /// Withdraws a suspicion.
  static func trust(_ path: String) throws {
    guard isSuspect(path) else { return }
    try FileManager.default.removeItem(atPath: path + suspicion)
  }

  private static let suspicion = "-suspect"
  private static let mark = ".damaged-"

  /// Returns the quarantined files of the store at `path`, the oldest first.
  static func setAsideFiles(of path: String) -> [String] {
    endings(of: path).filter { $0.allSatisfy(\.isNumber) }.sorted().map { "\(path)\(mark)\($0)" }
  }

  /// Returns the text after the mark of each file that a quarantine of `path` has named.
  private static func endings(of path: String) -> [Substring] {
    let folder = (path as NSString).deletingLastPathComponent
    let name = (path as NSString).lastPathComponent + mark
    // If the folder can't be read, such files are unknown.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.isEmpty ? "." : folder)) ?? []
    return names.filter { $0.hasPrefix(name) }.map { $0.dropFirst(name.count) }
  }

  /// Gives the file its log back if the process ended between the two renames of `setAside`. A file that was changed
  /// since doesn't get it, because the log of another state damages a file.
  static func rejoin(_ path: String) throws {
    let manager = FileManager.default
    guard !manager.fileExists(atPath: path + "-wal"),
      // An absent file has no date, and needs no log.
      let changed = (try? manager.attributesOfItem(atPath: path))?[.modificationDate] as? Date
    else { return }
    for ending in endings(of: path) where ending.hasSuffix("-wal") {
      let place = "\(path)\(mark)\(ending.dropLast(4))"
      guard let time = Int64(ending.dropLast(4)), milliseconds(changed) <= time,
        !manager.fileExists(atPath: place)
      else { continue }
      return try manager.moveItem(atPath: place + "-wal", toPath: path + "-wal")
    }
  }

  private static func milliseconds(_ date: Date) -> Int64 { Int64(date.timeIntervalSince1970 * 1000) }

  /// Checks every page. Throws `BothyError` `.corrupt` at the first that is damaged.
  static func check(_ database: some DatabaseReader, _ path: String) throws {
    let verdict = try database.read { try String.fetchOne($0, sql: "PRAGMA quick_check(1)") }
    guard let verdict, verdict != "ok" else { return }
    throw BothyError(
      .corrupt,
      "The database \(path) is damaged: \(verdict). Run `bothy doctor` on it, or restore a backup; the file was left "
        + "as it is.")
  }

  /// True if SQLite doesn't recognize a file of Bothy because its first page is zeroed, overwritten or cut off. A file
  /// of another program returns false and stays in its place. Reads the file until the result is certain.
  static func hasLostHeader(_ path: String, _ error: BothyError) -> Bool {
    guard error.code == .notADatabase,
      (error.underlying as? DatabaseError)?.resultCode == .SQLITE_NOTADB
    else { return false }
    if FileManager.default.fileExists(atPath: path + "-signals") { return true }
    guard let file = FileHandle(forReadingAtPath: path) else { return false }
    defer { try? file.close() }  // It was only read.
    // The names of Bothy's tables, and the row of its metadata table that holds the schema.
    let marks = [Data("bothy_".utf8), Data("schema{\"".utf8)]
    var end = Data()
    // An unreadable file counts as a file of another program.
    while let piece = try? file.read(upToCount: 1 << 20), !piece.isEmpty {
      let text = end + piece
      if marks.contains(where: { text.range(of: $0) != nil }) { return true }
      end = piece.suffix(8)
    }
    return false
  }

  /// Calls `body` with the path of the readable part of a damaged file. If its end is cut off, that is a copy with the
  /// length of its header, in which the missing pages are empty. The copy is deleted afterwards.
  package static func readable<Result>(_ path: String, _ body: (String) throws -> Result) throws -> Result {
    guard let whole = lengthByHeader(path), let size = length(path), size < whole else {
      return try body(path)
    }
    let copy = path + "-padded"
    let remove = {
      for suffix in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: copy + suffix) {
        try FileManager.default.removeItem(atPath: copy + suffix)
      }
    }
    try remove()
    defer { try? remove() }  // A copy that remains is replaced the next time.
    for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: path + suffix) {
      try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix)
    }
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: copy))
    try file.truncate(atOffset: UInt64(whole))
    try file.close()
    return try body(copy)
  }

  private static func length(_ path: String) -> Int64? {
    // An absent file has no length.
    (try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? Int64
  }

  /// Returns the size of an SQLite file by its own header: its page size times its pages (database file format, 1.3).
  /// Nil if the header isn't plausible.
  private static func lengthByHeader(_ path: String) -> Int64? {
    guard let file = FileHandle(forReadingAtPath: path) else { return nil }
    defer { try? file.close() }  // It was only read.
    // An unreadable file has no known length.
    guard let header = try? file.read(upToCount: 100), header.count == 100,
      header.starts(with: Data("SQLite format 3\0".utf8))
    else { return nil }
    func number(_ range: Range<Int>) -> Int64 { header[range].reduce(0) { $0 << 8 | Int64($1) } }
    let page = number(16..<18) == 1 ? 65_536 : number(16..<18)
    let length = page * number(28..<32)
    // Returns nil, so that the file's own length counts, if the header was not kept up to date.
    guard page >= 512, number(24..<28) == number(92..<96), length <= 1 << 40 else { return nil }
    return length
  }

  /// Renames the log and then the file, and returns the error that reports it. Returns the cause if that fails.
  static func setAside(_ path: String, _ cause: BothyError) -> BothyError {
    let place = "\(path)\(mark)\(milliseconds(Date()))"
    for suffix in ["-wal", "-shm", ""] where FileManager.default.fileExists(atPath: path + suffix) {
      do { try FileManager.default.moveItem(atPath: path + suffix, toPath: place + suffix) } catch {
        return cause
      }
    }
    try? trust(path)  // A suspicion that remains only makes the next opening slower.
    let unsent =
      cause.code == .notADatabase
      ? "Its first page, which says where all else is, is gone: what was not sent yet has to come from a backup."
      : "What was not sent yet comes back with `StoreMaintenance.salvage` or `bothy db salvage`."
    return BothyError(
      .corrupt,
      "The database \(path) is damaged, and was quarantined as \(place). The next opening makes a new file, and a sync "
        + "brings back what the server has. \(unsent)",
      underlying: cause)
  }
}
