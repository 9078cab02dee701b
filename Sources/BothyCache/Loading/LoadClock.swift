public import Foundation

/// The time as the loading part reads it: the device's calendar clock for what is stored, one that only goes forward
/// for waiting.
public struct LoadClock: Sendable {
  /// Milliseconds since 1970 by the device's clock.
  package let wall: @Sendable () -> Int64
  /// How long the clock has been running: never set, never backward.
  let uptime: @Sendable () -> Duration
  package let sleep: @Sendable (Duration) async throws -> Void

  /// - Parameters:
  ///   - clock: the clock that is waited on.
  ///   - wall: milliseconds since 1970.
  public init<C: Clock>(
    _ clock: C, wall: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }
  ) where C.Duration == Duration {
    let start = clock.now
    self.wall = wall
    uptime = { start.duration(to: clock.now) }
    sleep = { try await clock.sleep(for: $0) }
  }

  /// The clock of this machine.
  public init() { self.init(ContinuousClock()) }
}
