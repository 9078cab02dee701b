public import BothyStore

/// Decides which of the many positions that a device tells are worth looking at: those far enough from the last one in
/// time and in space.
public struct RefreshThrottle: Sendable {
  /// On foot: milliseconds and metres, both of which must be exceeded.
  public var interval: Int64 = 5000
  /// On foot: the metres, of which more must lie between two positions.
  public var distance: Double = 5
  /// In a vehicle: milliseconds, and the seconds of driving that make the metres.
  public var vehicleInterval: Int64 = 20_000
  /// In a vehicle: the seconds of driving whose way must lie between two positions.
  public var vehicleReach: Double = 5
  private var last: (position: Coordinate, time: Int64)?

  /// On foot 5 s and 5 m, in a vehicle 20 s and the way of 5 s.
  public init() {}

  /// Whether a position at a time, in milliseconds since 1970, is to be looked at; if so it is what the next ones are
  /// measured from. The first one is; a latitude that there is not, and what is no number, never is. When the clock was put back the time is not
  /// counted.
  ///
  /// - Parameter vehicleSpeed: metres a second; nil on foot.
  public mutating func accepts(_ position: Coordinate, at time: Int64, vehicleSpeed: Double? = nil) -> Bool {
    guard position.longitude.isFinite, (-90...90).contains(position.latitude) else { return false }
    let position = Coordinate(
      latitude: position.latitude, longitude: Geodesy.normalized(longitude: position.longitude))
    if let last {
      let (elapsed, overflow) = time.subtractingReportingOverflow(last.time)
      let speed = vehicleSpeed.map { $0.isFinite ? max($0, 0) : 0 }
      let needed = speed.map { $0 * vehicleReach } ?? distance
      let isLater = overflow || elapsed < 0 || elapsed > (speed == nil ? interval : vehicleInterval)
      guard isLater, position.distance(to: last.position) > needed else { return false }
    }
    last = (position, time)
    return true
  }

  /// Takes the next position whatever it is.
  public mutating func reset() { last = nil }
}
