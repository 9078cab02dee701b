import Foundation
import GRDB

/// What is done when a file is opened that may be, or is, damaged.
enum DamagedFile {
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

  /// Renames the file and its log, and says so. The cause is returned when that does not work.
  static func setAside(_ path: String, _ cause: StoreError) -> StoreError {
    let place = "\(path)\(mark)\(Int64(Date().timeIntervalSince1970 * 1000))"
    for suffix in ["-wal", "-shm", ""] where FileManager.default.fileExists(atPath: path + suffix) {
      do { try FileManager.default.moveItem(atPath: path + suffix, toPath: place + suffix) } catch {
        return cause
      }
    }
    try? trust(path)  // a suspicion that stays makes the next opening slower, no more
    return StoreError(
      .corrupt,
      "The database \(path) is damaged, and was set aside as \(place). The next opening makes a new file, and a sync "
        + "brings back what the server has. What was not sent yet comes back with `SyncedStore.salvage` or "
        + "`bothy db salvage`.",
      underlying: cause)
  }
}
