internal import BothyStore
internal import Foundation

/// Turns the cache's failed system calls into errors with messages.
enum DiskError {
  /// Returns the error of the last system call. Call it directly after that.
  static func last(_ path: String) -> BothyError { make(errno, path) }

  static func make(_ code: Int32, _ path: String) -> BothyError {
    let reason = String(cString: strerror(code))
    switch code {
    case ENOSPC, EDQUOT:
      return BothyError(
        .diskFull, "The disk is full, so nothing was written to \(path). Free some space and try again.")
    case EACCES, EPERM, EROFS:
      return BothyError(
        .readOnly,
        "\(path) may not be read or written. Check the rights of the file and its folder (\(reason)).")
    case ENOENT, ENOTDIR:
      return BothyError(.cannotOpen, "\(path) can't be opened. Check that its folder exists (\(reason)).")
    default:
      return BothyError(.database, "The disk failed at \(path): \(reason). Check the disk and try again.")
    }
  }

  static func isDiskFull(_ error: any Error) -> Bool { (error as? BothyError)?.code == .diskFull }
}
