internal import Foundation

/// Keeps an installed version from being removed while somebody reads it.
///
/// A shared lock of the system (`flock`) on a file beside the version; it is taken back when the process ends, however
/// it ends. Who wants to remove a version needs the lock alone.
final class VersionLease: Sendable {
  private let descriptor: Int32
  private let version: String
  private let onEnd: @Sendable () -> Void

  /// Nil when the version has gone meanwhile.
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

  /// Removes a version that nobody reads; false when somebody does.
  static func removeIfUnused(_ version: String) -> Bool {
    let descriptor = open(version + ".lock", O_RDONLY | O_CLOEXEC)
    if descriptor >= 0 {
      defer { close(descriptor) }
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return false }
      return remove(version)
    }
    return remove(version)
  }

  /// The folder first: a lock without its version is found to be nobody's.
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

  /// Whether the path still names the open file.
  private static func isNamed(_ descriptor: Int32, _ path: String) -> Bool {
    var (mine, named) = (stat(), stat())
    return fstat(descriptor, &mine) == 0 && stat(path, &named) == 0 && mine.st_ino == named.st_ino
  }
}
