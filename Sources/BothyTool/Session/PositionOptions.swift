import ArgumentParser
import BothyStore

/// A position that a command needs.
struct PositionOptions: ParsableArguments {
  @Option(name: .customLong("lat"), parsing: .unconditional, help: "The latitude in degrees, south negative.")
  var latitude: Double
  @Option(name: .customLong("lon"), parsing: .unconditional, help: "The longitude in degrees, west negative.")
  var longitude: Double

  var coordinate: Coordinate { Coordinate(latitude: latitude, longitude: longitude) }

  func validate() throws { try Self.check(latitude) }

  /// Throws for a latitude beyond the poles, as of a position whose numbers are in the other order. Longitudes go on
  /// around the world. What isn't finite is refused where it is used.
  static func check(_ latitude: Double?) throws {
    guard let latitude, latitude.isFinite, abs(latitude) > 90 else { return }
    throw ValidationError("--lat is from -90 to 90 degrees, not \(latitude).")
  }
}

/// A position that a command can do without.
struct OptionalPositionOptions: ParsableArguments {
  @Option(name: .customLong("lat"), parsing: .unconditional, help: "The latitude in degrees, south negative.")
  var latitude: Double?
  @Option(name: .customLong("lon"), parsing: .unconditional, help: "The longitude in degrees, west negative.")
  var longitude: Double?

  /// The position, or `nil` if one of its numbers isn't given.
  var coordinate: Coordinate? {
    guard let latitude, let longitude else { return nil }
    return Coordinate(latitude: latitude, longitude: longitude)
  }

  func validate() throws { try PositionOptions.check(latitude) }

  var isGiven: Bool { latitude != nil || longitude != nil }
  /// True if one number is given, and the other isn't.
  var isHalf: Bool { (latitude == nil) != (longitude == nil) }
}
