internal import Synchronization

/// Detects when no bytes have arrived for too long.
final class InactivityTimer: Sendable {
  private let last: Mutex<Duration>
  private let clock: LoadClock

  init(_ clock: LoadClock) {
    self.clock = clock
    last = Mutex(clock.uptime())
  }

  /// Records an arrival.
  func beat() {
    let now = clock.uptime()
    last.withLock { $0 = now }
  }

  /// Returns after a silence of this length, or when its task is cancelled.
  func silence(_ length: Duration) async {
    while true {
      let left = length - (clock.uptime() - last.withLock { $0 })
      guard left > .zero else { return }
      do { try await clock.sleep(left) } catch { return }
    }
  }
}
