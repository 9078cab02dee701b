import BothyStore
import Foundation

/// The name of a process for claims of spaces, on a database that one process serves as a rule.
///
/// The first process has the lock of a file, and the same name after each start. Others beside it have names of their
/// own, and take turns with it by claims.
package final class WebhookHolder: Sendable {
  package let name: String
  /// True if this process has the lock.
  package let isAlone: Bool
  private let descriptor: Int32

  /// Makes the file if it is missing. The lock ends with the object or the process.
  package init(lock path: String) {
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    let isAlone = descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) == 0
    name = isAlone ? "server" : UUIDv7.make()
    self.isAlone = isAlone
    self.descriptor = descriptor
  }

  deinit { if descriptor >= 0 { close(descriptor) } }
}
