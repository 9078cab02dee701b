internal import BothyStore

/// Queries by tile.
extension PlaceStore {
  /// Returns the features that some of the tiles have, each once, in order of identity and in the version that counts.
  ///
  /// Costs one read for each feature, on the calling thread. Tiles that aren't stored have no features. A shape that
  /// vector tiles cut is returned in pieces.
  ///
  /// - Throws: `BothyError` `unavailable` if the file can't be read or is closed, or `damagedPlaces`.
  public func features(
    of tiles: some Sequence<Tile>, _ filter: PlaceFilter = .everything
  ) throws(BothyError) -> [TileFeature] {
    let numbers = tiles.map(\.rowNumber)
    return try read { database in
      let statement = try PreparedStatement(
        """
        SELECT feature.id, feature.version, layer, category, named FROM version
        JOIN feature ON feature.id = version.feature WHERE version.tile = ?
        """, in: database)
      var seen: Set<Int64> = []
      var versions: [Int64] = []
      for number in numbers {
        statement.bind(number, at: 1)
        while try statement.step() {
          guard let layer: TileFeature.Layer = PlaceCode.value(statement.int(at: 2)),
            let category: PlaceCategory = PlaceCode.value(statement.int(at: 3))
          else { throw FeatureDamage() }
          guard seen.insert(statement.int(at: 0)).inserted,
            filter.admits(layer, category, isNamed: statement.int(at: 4) != 0)
          else { continue }
          versions.append(statement.int(at: 1))
        }
        statement.reset()
      }
      let reader = PlaceReader(database)
      return try versions.map(reader.feature).sorted { $0.identity < $1.identity }
    }
  }
}
