internal import BothyStore
internal import Foundation

/// Files and folders that are forced to the disk before other data refers to them.
enum DurableFile {
  static func write(_ bytes: [UInt8], to path: String) throws {
    try writing(path) { try Data(bytes).write(to: URL(filePath: path)) }
    try sync(path)
  }

  /// Runs `body`, which writes at `path`, and throws its errors as `failure(_:_:)` returns them.
  static func writing<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
    do { return try body() } catch { throw failure(error, path) }
  }

  /// Returns an error of the system or of SQLite as `BothyError` `.cannotWrite`, and others as they are.
  static func failure(_ error: any Error, _ path: String) -> any Error {
    if error is BothyError || error is CancellationError { return error }
    return BothyError(
      .cannotWrite,
      "\(path) can't be written: \(BothyError.cause(error)). Check the permissions of its folder and the room on the "
        + "disk.",
      underlying: error)
  }

  /// Forces a file, or the names in a folder, to the disk.
  static func sync(_ path: String) throws {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw unwritable(path) }
    defer { close(descriptor) }
    // Some file systems can't sync a folder and store the names on their own.
    guard fsync(descriptor) == 0 || errno == EINVAL else { throw unwritable(path) }
  }

  static func size(of path: String) throws -> Int64 {
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    return attributes[.size] as? Int64 ?? 0
  }

  /// Renames a file, folder or link. Replaces an existing one if the system allows that.
  static func rename(_ path: String, to name: String) throws {
    guard Foundation.rename(path, name) == 0 else { throw unwritable(name) }
  }

  /// Returns the last system error as an error about `path`.
  static func unwritable(_ path: String) -> BothyError {
    let reason = String(cString: strerror(errno))
    return BothyError(
      .cannotWrite,
      "\(path) can't be written: \(reason). Check the permissions of its folder and the room on the disk.")
  }
}
