extension NearbyMap {
  /// The radius that a nearby map covers, and the age up to which it uses tiles.
  package struct Settings: Sendable, Hashable {
    /// The radius around the position in metres.
    package var radius: Double = 500
    /// The zoom of the tiles with places.
    package var zoom = 16
    /// The age in milliseconds from which a tile is requested again.
    package var lifetime = PlaceTile.defaultLifetime
    /// The maximum number of tiles for one position.
    package var limit = 400
    /// The bytes that the places and their tiles may take.
    package var budget: Int64 = 256 << 20
    /// The interval at which a long run shows its tiles.
    static let longWait: Duration = .seconds(2)

    package init() {}
  }
}
