import BothySyncService
import Synchronization

/// When a device was last noted to have what it pulled: once an hour is enough to know how far devices are, and a pull
/// stays a read.
final class Acknowledgements: Sendable {
  private static let interval: Int64 = 3_600_000
  private static let capacity = 50_000
  private let noted = Mutex<[Key: Int64]>([:])

  private struct Key: Hashable {
    var space: String
    var device: String
  }

  /// Whether the device is to be noted now; it counts as noted then.
  func isDue(space: String, device: String, at now: Int64) -> Bool {
    noted.withLock { noted in
      let key = Key(space: space, device: device)
      if let last = noted[key], now - last < Self.interval { return false }
      if noted.count >= Self.capacity { noted = noted.filter { now - $0.value < Self.interval } }
      // Still full: notes come too often rather than that memory grows.
      if noted.count >= Self.capacity { noted.removeAll() }
      noted[key] = now
      return true
    }
  }

  /// The device was not noted after all.
  func forget(space: String, device: String) {
    noted.withLock { $0[Key(space: space, device: device)] = nil }
  }
}
