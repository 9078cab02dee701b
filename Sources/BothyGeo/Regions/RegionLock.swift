import Foundation
import Synchronization

/// Who may load a region: one at a time, whatever process they are in. The system takes it back from the dead.
final class RegionLock: Sendable {
  private let path: String
  private let descriptor: Mutex<Int32?>

  /// Nil when somebody else has it.
  init?(_ path: String) throws(GeoError) {
    self.path = path
    let number = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
    descriptor = Mutex(number)
    guard number >= 0 else {
      throw GeoError(
        .unavailable, "\(path) can't be made. Check that its folder is there and may be written.")
    }
    if flock(number, LOCK_EX | LOCK_NB) != 0 { return nil }
  }

  deinit { release() }

  func release() {
    descriptor.withLock { descriptor in
      if let number = descriptor, number >= 0 { close(number) }
      descriptor = nil
    }
  }

  /// Removes the file of a region that is no more. Whoever has opened it meanwhile finds that the region is gone.
  func remove() { try? FileManager.default.removeItem(atPath: path) }  // A file that stays harms nobody.
}
