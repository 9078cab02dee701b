public import BothyStore

/// Queries by position.
extension PlaceStore {
  /// Returns the places within a radius in metres of a position, the nearest first.
  ///
  /// Distances are measured to the closest point of a shape or the closest entrance. Within an area they are 0. Costs
  /// one search of the index of areas and one read for each feature whose box is near. Blocks the calling thread.
  ///
  /// - Throws: `BothyError` `invalidCoordinate` for values that aren't numbers, `unavailable` or `damagedPlaces`.
  public func within(
    radius: Double, of center: Coordinate, _ filter: PlaceFilter = .places
  ) throws(BothyError) -> [NearbyPlace] {
    try read { try PlaceReader($0).places(within: radius, of: center, filter) }
      .sorted(by: NearbyPlace.precedes)
  }

  /// Returns features whose center is in a box, edges included, in order of identity. A box whose west is greater than
  /// its east crosses the antimeridian.
  ///
  /// Reads each feature whose own box touches the box, without a limit. Use small boxes.
  ///
  /// - Throws: `BothyError` `invalidCoordinate` for an invalid box, `unavailable` or `damagedPlaces`.
  public func `in`(box: GeoBox, _ filter: PlaceFilter = .places) throws(BothyError) -> [TileFeature] {
    try box.checked()
    return try read { database in
      let reader = PlaceReader(database)
      var found: [TileFeature] = []
      for candidate in try reader.candidates(in: box)
      where filter.admits(candidate.layer, candidate.category, isNamed: candidate.isNamed) {
        let feature = try reader.feature(candidate.version)
        if box.contains(feature.center) { found.append(feature) }
      }
      return PieceChoice.first(of: found.sorted { $0.identity < $1.identity })
    }
  }

  /// Returns the nearest features at any distance, measured as in `within(radius:of:_:)`. Searches in growing circles,
  /// from 50 metres.
  ///
  /// Returns fewer if the store has fewer, after a search of the whole world. Of far features, only the index is read.
  ///
  /// - Throws: `BothyError` `invalidCoordinate` for values that aren't numbers, `unavailable` or `damagedPlaces`.
  public func nearest(
    _ count: Int, to center: Coordinate, _ filter: PlaceFilter = .places
  ) throws(BothyError) -> [NearbyPlace] {
    guard count > 0 else { return [] }
    return try read { database in
      let reader = PlaceReader(database)
      var radius = 50.0
      while true {
        let found = try reader.nearest(count, within: radius, of: center, filter)
        if found.count >= count || radius > Geodesy.earthRadius * .pi { return found }
        // The radius that evenly spread places need, plus a margin.
        let guess = (Double(count) / Double(max(found.count, 1))).squareRoot() * 1.3
        radius *= min(max(guess, 1.5), 4)
      }
    }
  }

  /// Returns the areas that contain a position, in order of identity. Holes aren't included, edges are.
  ///
  /// Points and lines are never returned. The whole area is tested by its geometry, after a search by its box.
  ///
  /// - Throws: `BothyError` `invalidCoordinate` for values that aren't numbers, `unavailable` or `damagedPlaces`.
  public func areas(
    containing position: Coordinate, _ filter: PlaceFilter = .places
  ) throws(BothyError) -> [TileFeature] {
    try read { database in
      let reader = PlaceReader(database)
      var found: [TileFeature] = []
      for candidate in try reader.candidates(in: GeoBox(around: position, radius: 0))
      where filter.admits(candidate.layer, candidate.category, isNamed: candidate.isNamed) {
        let feature = try reader.feature(candidate.version)
        if feature.geometry.contains(position) { found.append(feature) }
      }
      return PieceChoice.first(of: found.sorted { $0.identity < $1.identity })
    }
  }

  /// Searches circles of 200 to 1000 metres, in steps of 200, until a condition accepts enough places.
  ///
  /// Returns the nearest first, and more than wanted if the last circle has more. Each further circle reads the
  /// features of the ones before again.
  ///
  /// - Parameters:
  ///   - wanted: the number of places with which the search ends.
  ///   - accepts: called once for each place of each circle, on the calling thread within the read.
  /// - Throws: `BothyError` `invalidCoordinate` for values that aren't numbers, `unavailable` or `damagedPlaces`.
  public func search(
    around center: Coordinate, wanted: Int = 50, _ filter: PlaceFilter = .places,
    where accepts: (NearbyPlace) -> Bool = { _ in true }
  ) throws(BothyError) -> [NearbyPlace] {
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
