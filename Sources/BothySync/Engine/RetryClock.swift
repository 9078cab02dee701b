import Synchronization

/// Notices that the device's clock was set back, so that retry times in the file may be far ahead of it.
final class RetryClock: Sendable {
  private let last = Mutex(Int64.max)

  /// Returns true at the first call, because the clock may have been set back before, and whenever it was since the last
  /// call.
  func mayBeBehind(at now: Int64) -> Bool {
    last.withLock { last in
      defer { last = now }
      return now < last
    }
  }
}
