public import BothyStore

/// Queries by id and by name.
extension PlaceStore {
  /// Returns the features of an id in a layer, named or not, in order of identity. Empty if it isn't stored.
  ///
  /// Usually there is one. Of a shape that the edges of vector tiles cut, there is one for each tile. A node that is
  /// both a shop and an entrance has two. Costs one look-up by index and one read for each feature.
  ///
  /// - Throws: `BothyError` `unavailable` or `damagedPlaces`.
  public func features(_ key: FeatureKey) throws(BothyError) -> [TileFeature] {
    try read { try PlaceReader($0).features(key) }
  }

  /// Returns the road or path with an OpenStreetMap id, or another one from the tile, or `nil`.
  ///
  /// Ways of OpenStreetMap have negative ids, see `TileFeature.ids`. If vector tiles cut it, its shape has the pieces
  /// of all tiles. A road counts before a path of the same id.
  ///
  /// - Throws: `BothyError` `unavailable` or `damagedPlaces`.
  public func road(_ id: Int64) throws(BothyError) -> TileFeature? {
    try read { database in
      let reader = PlaceReader(database)
      for layer in [TileFeature.Layer.road, .path] {
        let found = try reader.features(FeatureKey(layer, String(id)))
        if let road = found.contains(where: { $0.cutBy != nil }) ? PieceChoice.joined(found) : found.first {
          return road
        }
      }
      return nil
    }
  }

  /// Returns the entrances of a building in all tiles. The building may be unnamed. Throws `BothyError`.
  package func entrances(ofBuilding id: Int64) throws(BothyError) -> Set<Int64> {
    try read { try PlaceReader($0).entranceLists(id).reduce(into: []) { $0.formUnion($1.entrances) } }
  }

  /// Returns the intersections of a road, optionally in a box, in order of identity.
  ///
  /// Costs one look-up by index and one read for each intersection of the road, also of those outside the box.
  ///
  /// - Throws: `BothyError` `invalidCoordinate` for an invalid box, `unavailable` or `damagedPlaces`.
  public func intersections(ofRoad id: Int64, in box: GeoBox? = nil) throws(BothyError) -> [TileFeature] {
    try box?.checked()
    return try read { database in
      let statement = try PreparedStatement(
        """
        SELECT version FROM junction JOIN feature ON feature.id = junction.feature WHERE road = ?
        """, in: database)
      statement.bind(id, at: 1)
      return try PlaceReader(database).features(statement).filter { box?.contains($0.center) ?? true }
    }
  }

  /// Returns the intersection of a road that is nearest to a position, or `nil`.
  ///
  /// Costs the same reads as `intersections(ofRoad:in:)`.
  ///
  /// - Parameter tolerance: the greatest distance in metres.
  /// - Throws: `BothyError` `unavailable` or `damagedPlaces`.
  public func intersection(
    ofRoad id: Int64, at position: Coordinate, tolerance: Double = 1
  ) throws(BothyError) -> TileFeature? {
    try intersections(ofRoad: id).map { (feature: $0, distance: $0.center.distance(to: position)) }
      .filter { $0.distance <= tolerance }.min { $0.distance < $1.distance }?.feature
  }

  /// Returns features with all words of a text in their names, in any language.
  ///
  /// Case and diacritics are ignored. Each word may be the beginning of a longer one. The order is by how well they
  /// match, then by identity. Of a shape that the edges of vector tiles cut, one piece is returned. A text without
  /// letters and digits finds nothing.
  ///
  /// Costs one look-up in the index of words, and one read for each feature up to the limit. All matches are sorted,
  /// so a single letter costs most.
  ///
  /// ```swift
  /// let found = try places.search("cafe grun", limit: 20)
  /// ```
  ///
  /// - Throws: `BothyError` `unavailable` or `damagedPlaces`.
  public func search(
    _ text: String, limit: Int = 50, _ filter: PlaceFilter = .places
  ) throws(BothyError) -> [TileFeature] {
    let words = text.split { !$0.isLetter && !$0.isNumber }.map { "\"\($0)\"*" }
    guard !words.isEmpty, limit > 0 else { return [] }
    return try read { database in
      let statement = try PreparedStatement(
        """
        SELECT feature.version, feature.layer, feature.category, feature.named FROM words
        CROSS JOIN feature ON feature.id = words.rowid WHERE words MATCH ?
        ORDER BY words.rank, feature.layer, feature.key, feature.type, feature.extent
        """, in: database)
      statement.bind(words.joined(separator: " "), at: 1)
      var found: [(element: TileFeature, number: Int?)] = []
      var shapes = PieceShapes()
      while found.count < limit, try statement.step() {
        guard let layer: TileFeature.Layer = PlaceCode.value(statement.int(at: 1)),
          let category: PlaceCategory = PlaceCode.value(statement.int(at: 2))
        else { throw FeatureDamage() }
        guard filter.admits(layer, category, isNamed: statement.int(at: 3) != 0) else { continue }
        let feature = try PlaceReader(database).feature(statement.int(at: 0))
        let number = shapes.add(feature)
        found.append((feature, number))
        if number != nil { found = shapes.first(of: found) }
      }
      statement.reset()
      return found.map(\.element)
    }
  }
}
