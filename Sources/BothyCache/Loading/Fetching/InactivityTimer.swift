internal import Synchronization

/// Detects when too few bytes have arrived for too long.
///
/// Single bytes don't count, or a server that sends one in each second would hold a request for hours.
final class InactivityTimer: Sendable {
  private struct State {
    var last: Duration
    /// The bytes since the last arrival that counted.
    var bytes = 0
  }

  /// The bytes that count as an arrival. With the usual limit of a silence, they are the least rate of 51 a second.
  private static let least = 1024

  private let state: Mutex<State>
  private let clock: LoadClock

  init(_ clock: LoadClock) {
    self.clock = clock
    state = Mutex(State(last: clock.uptime()))
  }

  /// Records the arrival of a response's head.
  func beat() { beat(Self.least) }

  /// Records the arrival of bytes of a body.
  func beat(_ count: Int) {
    let now = clock.uptime()
    state.withLock { state in
      state.bytes += count
      if state.bytes >= Self.least { state = State(last: now) }
    }
  }

  /// Returns after a silence of this length, or when its task is cancelled.
  func silence(_ length: Duration) async {
    while true {
      let left = length - (clock.uptime() - state.withLock { $0.last })
      guard left > .zero else { return }
      do { try await clock.sleep(left) } catch { return }
    }
  }
}
