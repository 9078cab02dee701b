public import BothyStore

/// Questions by position.
extension Places {
  /// What is within so many metres of a position, the nearest first.
  ///
  /// Distances go to the closest point of a shape or the closest entrance; within an area they are 0. Throws `GeoError`.
  public func within(
    radius: Double, of center: Coordinate, _ filter: PlaceFilter = .places
  ) throws(GeoError) -> [NearbyPlace] {
    try read { try PlaceReader($0).places(within: radius, of: center, filter) }
      .sorted(by: NearbyPlace.precedes)
  }

  /// Features whose centre is in a box, edges included, in order of identity. A box whose west is greater than its east
  /// lies across the antimeridian. Throws `GeoError`.
  public func `in`(box: GeoBox, _ filter: PlaceFilter = .places) throws(GeoError) -> [MapFeature] {
    try box.checked()
    return try read { database in
      let reader = PlaceReader(database)
      var found: [MapFeature] = []
      for candidate in try reader.candidates(in: box)
      where filter.admits(candidate.layer, candidate.category, isNamed: candidate.isNamed) {
        let feature = try reader.feature(candidate.version)
        if box.contains(feature.center) { found.append(feature) }
      }
      return found.sorted { $0.identity < $1.identity }
    }
  }

  /// The nearest features, measured as in `within(radius:of:_:)`, wherever they are. Looks in ever larger circles, the
  /// first of 50 metres. Throws `GeoError`.
  public func nearest(
    _ count: Int, to center: Coordinate, _ filter: PlaceFilter = .places
  ) throws(GeoError) -> [NearbyPlace] {
    guard count > 0 else { return [] }
    return try read { database in
      let reader = PlaceReader(database)
      var radius = 50.0
      while true {
        let found = try reader.nearest(count, within: radius, of: center, filter)
        if found.count >= count || radius > Geodesy.earthRadius * .pi { return found }
        // As wide as it takes when places are spread evenly, and a little more.
        let guess = (Double(count) / Double(max(found.count, 1))).squareRoot() * 1.3
        radius *= min(max(guess, 1.5), 4)
      }
    }
  }

  /// Areas that a position is in, less their holes; the edge belongs to an area. In order of identity. Throws `GeoError`.
  public func areas(
    containing position: Coordinate, _ filter: PlaceFilter = .places
  ) throws(GeoError) -> [MapFeature] {
    try read { database in
      let reader = PlaceReader(database)
      var found: [MapFeature] = []
      for candidate in try reader.candidates(in: GeoBox(around: position, radius: 0))
      where filter.admits(candidate.layer, candidate.category, isNamed: candidate.isNamed) {
        let feature = try reader.feature(candidate.version)
        if feature.geometry.contains(position) { found.append(feature) }
      }
      return found.sorted { $0.identity < $1.identity }
    }
  }

  /// Searches 200 metres around a position, then 200 more, up to 1000, while there are fewer places than wanted that a
  /// condition accepts. The nearest first; more than wanted when the last circle has more. Throws `GeoError`.
  public func search(
    around center: Coordinate, wanted: Int = 50, _ filter: PlaceFilter = .places,
    where accepts: (NearbyPlace) -> Bool = { _ in true }
  ) throws(GeoError) -> [NearbyPlace] {
    try read { database in
      let reader = PlaceReader(database)
      var found: [NearbyPlace] = []
      for radius in stride(from: 200.0, through: 1000, by: 200) {
        found = try reader.places(within: radius, of: center, filter).filter(accepts)
        if found.count >= wanted { break }
      }
      return found.sorted(by: NearbyPlace.precedes)
    }
  }
}
