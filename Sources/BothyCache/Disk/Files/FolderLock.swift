internal import BothyStore
internal import Foundation
internal import Synchronization

/// The right to write in a folder: one writer at a time among all threads and processes.
///
/// It is an advisory lock of the system (`flock`) on a file that is never deleted. The system releases it when a
/// process ends in any way. The next holder may then find unfinished work.
final class FolderLock: Sendable {
  private let path: String
  private let timeout: Duration
  let descriptor: Int32
  private let turn = Mutex(())

  init(_ path: String, timeout: Duration) throws {
    self.path = path
    self.timeout = timeout
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw DiskError.last(path) }
  }

  deinit { _ = Foundation.close(descriptor) }

  /// Runs `body` while no other thread or process writes. Throws `.busy` if the wait exceeds the timeout.
  func writing<Result>(_ body: () throws -> Result) throws -> Result {
    // The result never leaves the thread, because the lock only orders threads.
    try turn.withLock { _ in
      try acquire()
      defer { flock(descriptor, LOCK_UN) }
      return UncheckedResult(value: try body())
    }.value
  }

  private func acquire() throws {
    let deadline = ContinuousClock.now + timeout
    var pause: UInt32 = 100
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      guard errno == EWOULDBLOCK || errno == EINTR else { throw DiskError.last(path) }
      guard ContinuousClock.now < deadline else {
        throw BothyError(.busy, "Another process keeps the cache's lock \(path). Try again when it is done.")
      }
      usleep(pause)
      pause = min(pause * 2, 5000)
    }
  }
}

/// Carries a result out of a lock, on the thread that created it.
private struct UncheckedResult<Value>: @unchecked Sendable {
  let value: Value
}
