import BothyStore
import Foundation

/// Files that only their owner may read, as databases hold tokens and personal data.
enum PrivateFile {
  /// Creates an empty file of mode 0600. Returns false and does nothing if it exists.
  static func create(at path: String) throws -> Bool {
    let descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    if descriptor >= 0 {
      close(descriptor)
      return true
    }
    switch errno {
    case EEXIST: return false
    case EACCES, EPERM, EROFS:
      throw BothyError(
        .readOnly, "\(path) can't be made: its folder may not be written. Choose another folder.")
    case ENOENT, ENOTDIR:
      throw BothyError(
        .cannotOpen, "\(path) can't be made: its folder does not exist. Make the folder first.")
    case ENOSPC:
      throw BothyError(.diskFull, "The disk is full, so \(path) was not made. Free some space and try again.")
    case let code:
      throw BothyError(
        .cannotOpen, "\(path) can't be made: \(String(cString: strerror(code))). Choose another path.")
    }
  }

  /// Deletes a database with SQLite's files beside it.
  static func remove(_ path: String) {
    for suffix in ["", "-wal", "-shm", "-signals"] {
      try? FileManager.default.removeItem(atPath: path + suffix)  // most don't exist
    }
  }

  /// Changes a file that other processes change too, under a lock beside it.
  ///
  /// The file is replaced completely by renaming, so that a reader or a crash sees either the old bytes or the new
  /// ones. It keeps its owner, also if root changes it. `body` runs under the lock and returns the new bytes.
  ///
  /// A symbolic link stays, and the file that it points to is replaced: other programs know it by that name.
  static func change<Result>(_ given: String, _ body: () throws -> (Result, bytes: Data)) throws -> Result {
    let path = URL(filePath: given).resolvingSymlinksInPath().path
    let lock = open(path + ".lock", O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
    guard lock >= 0 else { throw ToolError("\(path) can't be written. Check the rights of its folder.") }
    defer { close(lock) }
    guard flock(lock, LOCK_EX) == 0 else { throw ToolError("\(path) can't be locked. Try again.") }
    let (result, bytes) = try body()
    let new = path + ".new"
    try? FileManager.default.removeItem(atPath: new)  // of a process that was killed here
    _ = try create(at: new)
    // Only root changes the file of another user, who reads the new one and takes the lock too.
    let owner = try? FileManager.default.attributesOfItem(atPath: path)
      .filter { [.ownerAccountID, .groupOwnerAccountID].contains($0.key) }
    for file in [new, path + ".lock"] {
      if let owner { try? FileManager.default.setAttributes(owner, ofItemAtPath: file) }
    }
    do {
      let handle = try FileHandle(forWritingTo: URL(filePath: new))
      try handle.write(contentsOf: bytes)
      try handle.synchronize()
      try handle.close()
    } catch { throw ToolError("\(path) can't be written. Free some space, or check its folder.") }
    guard rename(new, path) == 0 else { throw ToolError("\(path) can't be replaced. Check its folder.") }
    return result
  }
}
