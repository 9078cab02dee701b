import Foundation
import GRDB

/// What is done when a file is opened that may be, or is, damaged.
package enum DamagedFile {
  /// Whether damage was found in the file since it was last looked through: a small file beside it says so.
  static func isSuspect(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path + suspicion) }

  /// Has the next opening look at every page before it uses the file.
  static func suspect(_ path: String) {
    // Where the folder takes no file, damage is found again when its page is read again.
    _ = FileManager.default.createFile(atPath: path + suspicion, contents: nil)
  }

  /// Takes a suspicion back.
  static func trust(_ path: String) throws {
    guard isSuspect(path) else { return }
    try FileManager.default.removeItem(atPath: path + suspicion)
  }

  private static let suspicion = "-suspect"
  private static let mark = ".damaged-"

  /// The files that were set aside in place of the one at `path`, the oldest first.
  static func setAsideFiles(of path: String) -> [String] {
    let folder = (path as NSString).deletingLastPathComponent
    let name = (path as NSString).lastPathComponent + mark
    // A folder that can't be read: nothing is known of such files.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.isEmpty ? "." : folder)) ?? []
    return names.filter { $0.hasPrefix(name) && $0.dropFirst(name.count).allSatisfy(\.isNumber) }.sorted()
      .map { folder.isEmpty ? $0 : (folder as NSString).appendingPathComponent($0) }
  }

  /// Looks at every page. Throws `StoreError` `.corrupt` at the first that is damaged.
  static func check(_ database: some DatabaseReader, _ path: String) throws {
    let verdict = try database.read { try String.fetchOne($0, sql: "PRAGMA quick_check(1)") }
    guard let verdict, verdict != "ok" else { return }
    throw StoreError(
      .corrupt,
      "The database \(path) is damaged: \(verdict). Run `bothy doctor` on it, or restore a backup; the file was left "
        + "as it is.")
  }

  /// Whether SQLite does not know a file of Bothy's as a database: its first page is zeroed, overwritten or cut off. A file
  /// of another kind is none of Bothy's, and stays where it is. Reads the file until it has found out.
  static func hasLostHeader(_ path: String, _ error: StoreError) -> Bool {
    guard error.code == .notADatabase,
      (error.underlying as? DatabaseError)?.resultCode == .SQLITE_NOTADB
    else { return false }
    if FileManager.default.fileExists(atPath: path + "-signals") { return true }
    guard let file = FileHandle(forReadingAtPath: path) else { return false }
    defer { try? file.close() }  // it was only read
    // Names of Bothy's tables, and the row of its table of values that holds the schema.
    let marks = [Data("bothy_".utf8), Data("schema{\"".utf8)]
    var end = Data()
    // What can't be read is nobody's.
    while let piece = try? file.read(upToCount: 1 << 20), !piece.isEmpty {
      let text = end + piece
      if marks.contains(where: { text.range(of: $0) != nil }) { return true }
      end = piece.suffix(8)
    }
    return false
  }

  /// Calls `body` with the path of what can be read of a damaged file: of its own, or, where its end is cut off, of a copy
  /// that has the pages of its header again, the missing ones empty. The copy is removed afterwards.
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
    defer { try? remove() }  // a copy that stays is made anew the next time
    for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: path + suffix) {
      try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix)
    }
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: copy))
    try file.truncate(atOffset: UInt64(whole))
    try file.close()
    return try body(copy)
  }

  private static func length(_ path: String) -> Int64? {
    // Absent: no length.
    (try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? Int64
  }

  /// The bytes that a file of SQLite has by its own header: its page size times its pages (database file format, 1.3). Nil
  /// where the header says nothing believable.
  private static func lengthByHeader(_ path: String) -> Int64? {
    guard let file = FileHandle(forReadingAtPath: path) else { return nil }
    defer { try? file.close() }  // it was only read
    // Unreadable: nothing is known.
    guard let header = try? file.read(upToCount: 100), header.count == 100,
      header.starts(with: Data("SQLite format 3\0".utf8))
    else { return nil }
    func number(_ range: Range<Int>) -> Int64 { header[range].reduce(0) { $0 << 8 | Int64($1) } }
    let page = number(16..<18) == 1 ? 65_536 : number(16..<18)
    let length = page * number(28..<32)
    // The file's own length is taken where the header was not kept up to date with it.
    guard page >= 512, number(24..<28) == number(92..<96), length <= 1 << 40 else { return nil }
    return length
  }

  /// Renames the file and its log, and says so. The cause is returned when that does not work.
  static func setAside(_ path: String, _ cause: StoreError) -> StoreError {
    let place = "\(path)\(mark)\(Int64(Date().timeIntervalSince1970 * 1000))"
    for suffix in ["-wal", "-shm", ""] where FileManager.default.fileExists(atPath: path + suffix) {
      do { try FileManager.default.moveItem(atPath: path + suffix, toPath: place + suffix) } catch {
        return cause
      }
    }
    try? trust(path)  // a suspicion that stays makes the next opening slower, no more
    let unsent =
      cause.code == .notADatabase
      ? "Its first page, which says where all else is, is gone: what was not sent yet has to come from a backup."
      : "What was not sent yet comes back with `SyncedStore.salvage` or `bothy db salvage`."
    return StoreError(
      .corrupt,
      "The database \(path) is damaged, and was set aside as \(place). The next opening makes a new file, and a sync "
        + "brings back what the server has. \(unsent)",
      underlying: cause)
  }
}
