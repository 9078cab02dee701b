internal import BothyStore
internal import Foundation
internal import Synchronization

/// The right to write in a folder: one writer at a time among all threads and processes.
///
/// An advisory lock of the system (`flock`) on a file that is never removed. The system takes it back when a process
/// ends, however it ends; what its holder left half done is therefore nobody's any more.
final class FolderLock: Sendable {
  private let path: String
  private let timeout: Duration
  private let descriptor: Int32
  private let turn = Mutex(())

  init(_ path: String, timeout: Duration) throws {
    self.path = path
    self.timeout = timeout
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw DiskError.last(path) }
  }

  deinit { _ = Foundation.close(descriptor) }

  /// Runs `body` when nobody else writes. Throws `.busy` when others write for longer than the timeout.
  func writing<Result>(_ body: () throws -> Result) throws -> Result {
    // The result never leaves the thread; the lock only orders threads.
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
        throw StoreError(.busy, "Another process keeps the cache's lock \(path). Try again when it is done.")
      }
      usleep(pause)
      pause = min(pause * 2, 5000)
    }
  }
}

/// Carries a result out of a lock on the thread that made it.
private struct UncheckedResult<Value>: @unchecked Sendable {
  let value: Value
}
