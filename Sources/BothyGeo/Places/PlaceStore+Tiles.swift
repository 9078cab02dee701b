internal import BothyStore
public import Foundation

/// Adding, reading and deleting tiles.
extension PlaceStore {
  /// Stores the bytes of a tile, which came at a time in milliseconds since 1970, in place of its earlier version.
  ///
  /// Decodes the bytes, then writes all changes in one transaction. Bytes that came before the stored ones are ignored.
  ///
  /// Throws `BothyError`: `.notATile` for invalid bytes, and `.unavailable` if the tile can't be written, for example on
  /// a full disk. The old version then stays.
  public func replace(_ tile: Tile, payload: Data, receivedAt: Int64) throws(BothyError) {
    try replace(PlaceTile(tile, payload: payload, receivedAt: receivedAt))
  }

  /// Returns the bytes of a tile as received, at any age, or `nil` if it isn't stored.
  public func payload(of tile: Tile) throws(BothyError) -> Data? { try self.tile(tile)?.payload }

  /// Stores a tile in place of its earlier version. Decodes the bytes, then writes all changes in one transaction.
  ///
  /// A feature that the tile no longer has is deleted, unless another tile has it. If tiles differ about a feature, the
  /// tile received last counts. Unchanged bytes cost only the row of the tile. If `generation` isn't the current one,
  /// the tile is discarded.
  ///
  /// Throws `BothyError`: `.notATile` for invalid bytes, and `.unavailable` if the tile can't be written, for example on
  /// a full disk. The old version then stays.
  @discardableResult
  package func replace(_ tile: PlaceTile, generation: Int? = nil) throws(BothyError) -> PlaceTileChange {
    let categories = self.categories
    let number = tile.tile.rowNumber
    let isKnown = try self.tile(tile.tile).map { $0.payload == tile.payload } ?? false
    let content = isKnown ? nil : try GeoJSONTile(decoding: tile.payload, categories: categories)
    let change: PlaceTileChange = try write { database in
      if let generation, generation != self.generation { return .discarded }
      let held = try PlaceTileRow.read(number, database)
      if let held, held.receivedAt > tile.receivedAt { return .outdated }
      // The tile may have been replaced since the first check.
      let isSame = held.map { $0.payload == tile.payload } ?? false
      let writer = PlaceWriter(database)
      try PlaceTileRow.write(tile, categories: Int64(categories.version), database)
      if isSame {
        try writer.settle(number)
        return .unchanged
      }
      let features = try content ?? GeoJSONTile(decoding: tile.payload, categories: categories)
      try writer.replace(number, features.features)
      return held == nil ? .added : .updated
    }
    if change != .outdated, change != .discarded { noteChange() }
    return change
  }

  /// Stores that the server confirmed a tile at a time in milliseconds since 1970, with the validators that it sent. A
  /// validator that it didn't send stays.
  ///
  /// Returns false if the tile isn't stored and so must be fetched completely.
  @discardableResult
  package func renew(
    _ tile: Tile, at time: Int64, entityTag: String? = nil, lastModified: String? = nil
  ) throws(BothyError) -> Bool {
    try write { database in
      let statement = try PreparedStatement(
        """
        UPDATE tile SET validated_at = ?, etag = ifnull(?, etag), last_modified = ifnull(?, last_modified)
        WHERE morton = ?
        """, in: database)
      statement.bind(time, at: 1)
      statement.bind(entityTag, at: 2)
      statement.bind(lastModified, at: 3)
      statement.bind(tile.rowNumber, at: 4)
      try statement.run()
      return database.changedRows > 0
    }
  }

  /// Deletes tiles, and the features that no other tile has, in one transaction.
  package func remove(_ tiles: some Sequence<Tile>) throws(BothyError) {
    let numbers = tiles.map(\.rowNumber)
    try write { database in
      let writer = PlaceWriter(database)
      for number in numbers { try writer.remove(number) }
    }
    noteChange()
  }

  /// Returns a tile as received, at any age, or `nil` if it isn't stored. Tiles without features are stored too.
  package func tile(_ tile: Tile) throws(BothyError) -> PlaceTile? {
    try read { try PlaceTileRow.read(tile.rowNumber, $0) }
  }

  /// Returns those of the tiles that are stored, with the time of their last validation. Doesn't read bytes.
  package func held(_ tiles: some Sequence<Tile>) throws(BothyError) -> [Tile: Int64] {
    let tiles = Array(tiles)
    return try read { database in
      var found: [Tile: Int64] = [:]
      let statement = try PreparedStatement("SELECT validated_at FROM tile WHERE morton = ?", in: database)
      for tile in tiles {
        statement.bind(tile.rowNumber, at: 1)
        if try statement.step() { found[tile] = statement.int(at: 0) }
        statement.reset()
      }
      return found
    }
  }

  /// Returns the numbers of tiles and of features.
  public func counts() throws(BothyError) -> (tiles: Int, features: Int) {
    try read { database in
      let statement = try PreparedStatement(
        "SELECT (SELECT count(*) FROM tile), (SELECT count(*) FROM feature)", in: database)
      guard try statement.step() else { return (0, 0) }
      defer { statement.reset() }
      return (Int(statement.int(at: 0)), Int(statement.int(at: 1)))
    }
  }

  /// Returns the tiles that have a feature, in order.
  package func tiles(of key: FeatureKey) throws(BothyError) -> [Tile] {
    try read { database in
      let statement = try PreparedStatement(
        """
        SELECT DISTINCT version.tile FROM feature JOIN version ON version.feature = feature.id
        WHERE layer = ? AND key = ?
        """, in: database)
      statement.bind(PlaceCode.of(key.layer), at: 1)
      statement.bind(key.id, at: 2)
      var found: [Tile] = []
      while try statement.step() {
        found.append(try Tile(morton: UInt64(bitPattern: statement.int(at: 0))))
      }
      return found.sorted()
    }
  }
}
