/// How long the machine has been running, and since which start of it: the clock that no user sets. Counts while
/// the machine sleeps.
public struct Uptime: Sendable, Hashable {
  /// A name of the machine's present run; another after each restart of the machine.
  public var boot: String
  /// The time since that start.
  public var milliseconds: Int64

  /// For clocks of tests; `SyncClock()` asks the machine.
  public init(boot: String, milliseconds: Int64) {
    self.boot = boot
    self.milliseconds = milliseconds
  }
}
