package import BothyStore

/// Selects positions of a device that are far enough from the last selected one in time and in space.
package struct RefreshThrottle: Sendable {
  /// The milliseconds between two positions on foot. Both time and distance must be exceeded.
  package var interval: Int64 = 5000
  /// The metres between two positions on foot, which must be exceeded.
  package var distance: Double = 5
  /// The milliseconds between two positions in a vehicle.
  package var vehicleInterval: Int64 = 20_000
  /// The seconds of driving whose distance two positions in a vehicle must exceed.
  package var vehicleReach: Double = 5
  private var last: (position: Coordinate, time: Int64)?

  /// Creates a throttle: 5 s and 5 m on foot, 20 s and the distance of 5 s in a vehicle.
  package init() {}

  /// Returns true if a position at a time, in milliseconds since 1970, should be used. Later positions are then
  /// measured from it.
  ///
  /// The first valid position is accepted. An invalid latitude or a value that isn't a number never is. If the clock
  /// was set back, the time isn't checked.
  ///
  /// - Parameter vehicleSpeed: metres a second, or `nil` on foot.
  package mutating func accepts(_ position: Coordinate, at time: Int64, vehicleSpeed: Double? = nil) -> Bool {
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

  /// Makes the throttle accept the next position at any distance.
  package mutating func reset() { last = nil }
}
