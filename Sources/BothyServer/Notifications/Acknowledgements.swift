import BothySyncService
import Synchronization

/// The times at which the progress of each device was last recorded.
///
/// Once an hour is enough to know the progress of devices. At other times, a pull writes nothing.
final class Acknowledgements: Sendable {
  private static let interval: Int64 = 3_600_000
  private static let capacity = 50_000
  private let noted = Mutex<[Key: Int64]>([:])

  private struct Key: Hashable {
    var space: String
    var device: String
  }

  /// Returns true if the device's progress is due to be recorded, and then counts it as recorded.
  func isDue(space: String, device: DeviceName, at now: Int64) -> Bool {
    noted.withLock { noted in
      let key = Key(space: space, device: device.text)
      if let last = noted[key], (0..<Self.interval).contains(now - last) { return false }
      if noted.count >= Self.capacity { noted = noted.filter { now - $0.value < Self.interval } }
      // If the table is still full, devices are recorded too often rather than that memory grows.
      if noted.count >= Self.capacity { noted.removeAll() }
      noted[key] = now
      return true
    }
  }

  /// Forgets a device whose progress wasn't recorded after all.
  func forget(space: String, device: DeviceName) {
    noted.withLock { $0[Key(space: space, device: device.text)] = nil }
  }
}
