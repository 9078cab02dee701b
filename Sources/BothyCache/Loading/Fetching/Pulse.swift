internal import Synchronization

/// Tells when nothing has come for too long.
final class Pulse: Sendable {
  private let last: Mutex<Duration>
  private let clock: LoadClock

  init(_ clock: LoadClock) {
    self.clock = clock
    last = Mutex(clock.uptime())
  }

  /// Something came.
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
