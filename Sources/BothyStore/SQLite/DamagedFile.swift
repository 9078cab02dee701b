import Foundation
import GRDB

/// What is done when a file is opened that may be, or is, damaged.
enum DamagedFile {
  /// Whether the last process to use the file ended without closing it: its log is still there. True also while
  /// another process has it open.
  static func wasLeftOpen(_ path: String) -> Bool {
    // Absent: closed properly.
    let attributes = try? FileManager.default.attributesOfItem(atPath: path + "-wal")
    return attributes?[.size] as? Int64 ?? 0 > 0
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
    let place = "\(path).damaged-\(Int64(Date().timeIntervalSince1970 * 1000))"
    for suffix in ["-wal", "-shm", ""] where FileManager.default.fileExists(atPath: path + suffix) {
      do { try FileManager.default.moveItem(atPath: path + suffix, toPath: place + suffix) } catch {
        return cause
      }
    }
    return StoreError(
      .corrupt,
      "The database \(path) is damaged, and was set aside as \(place). The next opening makes a new file, and a sync "
        + "brings back what the server has; for what was not sent yet run `bothy doctor` and `bothy outbox` on the old "
        + "one.",
      underlying: cause)
  }
}
