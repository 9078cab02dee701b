import BothyCache
import Foundation
import Synchronization

/// The lock for loading a region, which only one run of all processes has. The system releases it when a process dies.
package final class RegionLock: Sendable {
  private let path: String
  private let descriptor: Mutex<Int32?>

  /// Acquires the lock, or returns `nil` if another run has it.
  package init?(_ path: String) throws(BothyError) {
    self.path = path
    guard let number = try Self.locked(path) else { return nil }
    descriptor = Mutex(number)
  }

  /// Returns the descriptor of the locked file, or `nil` if another run has the lock.
  private static func locked(_ path: String) throws(BothyError) -> Int32? {
    while true {
      let number = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
      guard number >= 0 else {
        throw BothyError(
          .unavailable, "\(path) can't be made. Check that its folder is there and may be written.")
      }
      guard flock(number, LOCK_EX | LOCK_NB) == 0 else {
        close(number)
        return nil
      }
      // The last holder may have deleted the file after it was opened, and others lock a new one.
      if isNamed(number, path) { return number }
      close(number)
    }
  }

  /// Returns true if the path still names the open file.
  private static func isNamed(_ number: Int32, _ path: String) -> Bool {
    var (mine, named) = (stat(), stat())
    return fstat(number, &mine) == 0 && stat(path, &named) == 0 && mine.st_ino == named.st_ino
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

  /// Runs `body` with the lock of the repair of a file, after the end of another repair. Blocks.
  ///
  /// - Throws: `BothyError` `unavailable` after a minute, or if the lock can't be made, and what `body` throws.
  static func repairing<Result>(_ file: String, _ body: () throws -> Result) throws -> Result {
    for attempt in 0..<600 {
      if attempt > 0 { usleep(100_000) }
      guard let lock = try RegionLock(file + ".lock") else { continue }
      defer { lock.end() }
      return try body()
    }
    throw BothyError(.unavailable, "\(file) is being repaired by another process. Try again.")
  }

  /// Acquires the lock for writing a file. Throws `BothyError` `unavailable` if another writer has it.
  static func writing(_ file: String) throws(BothyError) -> RegionLock {
    if let lock = try RegionLock(file + ".lock") { return lock }
    throw BothyError(.unavailable, "Another process writes \(file). Wait for its end.")
  }

  /// Returns true if a run has the lock, or if that can't be found out. Looks at the same time don't see each other.
  static func isTaken(_ path: String) -> Bool {
    let number = open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { return errno != ENOENT }
    defer { close(number) }
    return flock(number, LOCK_SH | LOCK_NB) != 0
  }

  deinit { release() }

  package func release() {
    descriptor.withLock { descriptor in
      if let number = descriptor, number >= 0 { close(number) }
      descriptor = nil
    }
  }

  /// Deletes the lock file, and releases the lock. Does nothing if it was released.
  func end() {
    guard descriptor.withLock({ $0 != nil }) else { return }
    remove()
    release()
  }

  /// Deletes the lock file of a deleted region. A process that has opened it in the meantime finds the region deleted.
  package func remove() {
    // A file that stays is harmless.
    try? FileManager.default.removeItem(atPath: path)
  }
}
