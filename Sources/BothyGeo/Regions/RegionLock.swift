import BothyCache
import Foundation
import Synchronization

/// The lock for loading a region, which only one run of all processes has. The system releases it when a process dies.
final class RegionLock: Sendable {
  private let path: String
  private let descriptor: Mutex<Int32?>

  /// Acquires the lock, or returns `nil` if another run has it.
  init?(_ path: String) throws(BothyError) {
    self.path = path
    let number = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
    descriptor = Mutex(number)
    guard number >= 0 else {
      throw BothyError(
        .unavailable, "\(path) can't be made. Check that its folder is there and may be written.")
    }
    if flock(number, LOCK_EX | LOCK_NB) != 0 { return nil }
  }

  /// Acquires the lock, or returns `nil` if another run has it at each attempt, a tenth of a second apart.
  ///
  /// A look at a region's state has the lock for a moment. So one attempt doesn't show that a run has it.
  static func acquired(_ path: String, attempts: Int, on cache: ResourceCache) async throws -> RegionLock? {
    for attempt in 0..<attempts {
      if attempt > 0 { try await cache.wait(.milliseconds(100)) }
      if let lock = try RegionLock(path) { return lock }
    }
    return nil
  }

  /// Returns true if a run has the lock, or if that can't be found out. Looks at the same time don't see each other.
  static func isTaken(_ path: String) -> Bool {
    let number = open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { return errno != ENOENT }
    defer { close(number) }
    return flock(number, LOCK_SH | LOCK_NB) != 0
  }

  deinit { release() }

  func release() {
    descriptor.withLock { descriptor in
      if let number = descriptor, number >= 0 { close(number) }
      descriptor = nil
    }
  }

  /// Deletes the lock file of a deleted region. A process that has opened it in the meantime finds the region deleted.
  func remove() { try? FileManager.default.removeItem(atPath: path) }  // A file that stays is harmless.
}
