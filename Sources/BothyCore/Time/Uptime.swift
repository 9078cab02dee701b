/// The time since the machine started, and an id of that start: a clock that users can't set. Counts while the machine
/// sleeps.
package struct Uptime: Sendable, Hashable {
  /// An id of the machine's present run. It changes with each restart of the machine.
  package var boot: String
  /// The time since that start.
  package var milliseconds: Int64

  /// Creates an uptime, for clocks of tests. `SyncClock()` reads that of the machine.
  package init(boot: String, milliseconds: Int64) {
    self.boot = boot
    self.milliseconds = milliseconds
  }

  /// Returns the uptime of this machine.
  package static func now() -> Uptime { Uptime(boot: boot, milliseconds: nanoseconds / 1_000_000) }
}
