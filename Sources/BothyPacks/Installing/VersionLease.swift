internal import Foundation

/// A lease that protects an installed version from deletion while it is read.
///
/// It is a shared lock of the system (`flock`) on a file beside the version. The system releases it when the process
/// ends in any way. Deleting a version needs an exclusive lock.
final class VersionLease: Sendable {
  private let descriptor: Int32
  private let version: String
  private let onEnd: @Sendable () -> Void

  /// Acquires a lease, or returns `nil` if the version was deleted in the meantime.
  init?(_ version: String, onEnd: @escaping @Sendable () -> Void) {
    self.version = version
    self.onEnd = onEnd
    descriptor = open(version + ".lock", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    guard flock(descriptor, LOCK_SH) == 0, Self.isNamed(descriptor, version + ".lock") else { return nil }
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
    onEnd()
  }

  /// Deletes a version and returns true, or returns false if it has readers.
  static func removeIfUnused(_ version: String) -> Bool {
    let descriptor = open(version + ".lock", O_RDONLY | O_CLOEXEC)
    if descriptor >= 0 {
      defer { close(descriptor) }
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return false }
      return remove(version)
    }
    return remove(version)
  }

  /// Deletes the folder first. A lock without its version has no owner.
  private static func remove(_ version: String) -> Bool {
    let files = FileManager.default
    do {
      if files.fileExists(atPath: version) { try files.removeItem(atPath: version) }
      if files.fileExists(atPath: version + ".lock") { try files.removeItem(atPath: version + ".lock") }
      return true
    } catch {
      return false
    }
  }

  /// Returns true if the path still names the open file.
  private static func isNamed(_ descriptor: Int32, _ path: String) -> Bool {
    var (mine, named) = (stat(), stat())
    return fstat(descriptor, &mine) == 0 && stat(path, &named) == 0 && mine.st_ino == named.st_ino
  }
}
