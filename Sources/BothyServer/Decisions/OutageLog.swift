/// Decides which outages of the rule for writes are logged: the first, and one a minute from then on. Pure.
struct OutageLog: Sendable, Equatable {
  /// The least time between two lines, in milliseconds.
  static let pause: Int64 = 60_000

  private var loggedAt: Int64?
  private var unlogged = 0
  private var isOut = false

  /// Notes an outage. Returns the number of outages since the last line if a line is due.
  mutating func failed(at now: Int64) -> Int? {
    isOut = true
    unlogged += 1
    if let loggedAt, now - loggedAt < Self.pause, now >= loggedAt { return nil }
    defer { unlogged = 0 }
    loggedAt = now
    return unlogged
  }

  /// Notes a decision. Returns true if it is the first after an outage.
  mutating func decided() -> Bool {
    defer { isOut = false }
    return isOut
  }
}
