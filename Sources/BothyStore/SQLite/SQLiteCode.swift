import Foundation
import GRDB

/// The conversion of SQLite's result codes to sentences, in one place.
extension BothyError {
  /// Wraps an error of the database at `path`. A `BothyError` stays unchanged.
  package init(_ error: any Error, path: String) {
    if let known = error as? BothyError {
      self = known
      return
    }
    if error is CancellationError {
      self = BothyError(.cancelled, "The operation was cancelled; nothing was changed.", underlying: error)
      return
    }
    guard let failure = error as? DatabaseError else {
      self = BothyError(.database, "The store at \(path) failed: \(Self.cause(error)).", underlying: error)
      return
    }
    let (code, message) = Self.sentence(for: failure, path: path)
    self = BothyError(code, message, underlying: failure)
  }

  /// Returns the cause of an error as a part of a sentence. SQLite's statement and the names of libraries are left out.
  package static func cause(_ error: any Error) -> String {
    let text =
      switch error {
      case let error as DatabaseError: error.message ?? error.resultCode.description
      case let error as CocoaError: error.localizedDescription
      default: "\(error)"
      }
    return text.hasSuffix(".") ? String(text.dropLast()) : text
  }

  private static func sentence(for failure: DatabaseError, path: String) -> (Code, String) {
    switch failure.resultCode {
    // SQLite opens a folder, and fails to read it.
    case .SQLITE_IOERR where isFolder(path), .SQLITE_CANTOPEN where isFolder(path):
      (.cannotOpen, "\(path) is a folder. Give the path of a file in it.")
    case .SQLITE_FULL:
      (.diskFull, "The disk is full, so nothing was written to \(path). Free some space and try again.")
    case .SQLITE_IOERR where failure.message?.contains("disk I/O") == true && isDiskFull(path),
      // Without room for its shared memory SQLite opens a file for reading only.
      .SQLITE_READONLY where FileManager.default.isWritableFile(atPath: path) && isDiskFull(path):
      (.diskFull, "The disk is full, so nothing was written to \(path). Free some space and try again.")
    case .SQLITE_NOTADB:
      (
        .notADatabase,
        "\(path) is not a SQLite database. Choose another path; the file was left as it is."
      )
    case .SQLITE_CORRUPT:
      (
        .corrupt,
        "The database \(path) is damaged: \(failure.message ?? "no detail"). "
          + "Run `bothy doctor` on it, or restore a backup; the file was left as it is."
      )
    case .SQLITE_CANTOPEN:
      (.cannotOpen, "The database \(path) can't be opened. Check that its folder exists and may be written.")
    case .SQLITE_READONLY, .SQLITE_PERM:
      (
        .readOnly,
        "The database \(path) may not be written. Check the permissions of the file and its folder."
      )
    case .SQLITE_BUSY, .SQLITE_LOCKED:
      (.busy, "Another process keeps the database \(path) locked. Try again when it is done.")
    case .SQLITE_INTERRUPT:
      (.cancelled, "The operation was cancelled; nothing was changed.")
    case .SQLITE_TOOBIG:
      (.invalidValue, "A value is larger than SQLite can store (1 GB). Keep it in a blob instead.")
    case .SQLITE_CONSTRAINT:
      (.uniqueViolation, constraintSentence(failure))
    default:
      (.database, "The database \(path) failed: \(failure.message ?? failure.resultCode.description).")
    }
  }

  /// Returns the sentence about a constraint. SQLite names the columns as `UNIQUE constraint failed: Todo.title`.
  private static func constraintSentence(_ failure: DatabaseError) -> String {
    let message = failure.message ?? ""
    guard let colon = message.range(of: "constraint failed: ") else {
      return "A constraint failed: \(message)."
    }
    let fields = message[colon.upperBound...]
    return fields.contains(", ")
      ? "Another record has the same values of \(fields), which are unique together."
      : "Another record has the same value of the unique field \(fields)."
  }

  private static func isFolder(_ path: String) -> Bool {
    var isDirectory: ObjCBool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory.boolValue
  }

  private static func isDiskFull(_ path: String) -> Bool {
    let folder = (path as NSString).deletingLastPathComponent
    // An unknown size doesn't count as full.
    let attributes = try? FileManager.default.attributesOfFileSystem(forPath: folder.isEmpty ? "." : folder)
    guard let free = attributes?[.systemFreeSize] as? Int64 else { return false }
    return free < 1 << 20
  }
}
