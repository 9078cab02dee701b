internal import BothyStore
public import Foundation
internal import GRDB

/// Adding, reading and deleting tiles.
extension PlaceStore {
  /// Stores the bytes of a tile in place of its earlier version. They are GeoJSON, a vector tile or of the format of the
  /// store's decoder, and came at a time in milliseconds since 1970.
  ///
  /// Decodes the bytes, then writes all changes in one transaction. Bytes that came before the stored ones are ignored.
  ///
  /// Throws `BothyError`: `notATile` for invalid bytes, `invalidCategories` for a vector tile that needs a schema, and
  /// `unavailable` if the tile can't be written, for example on a full disk. The old version then stays.
  public func replace(_ tile: Tile, payload: Data, receivedAt: Int64) throws(BothyError) {
    try replace(PlaceTile(tile, payload: payload, receivedAt: receivedAt))
  }

  /// Returns the bytes of a tile as received, at any age, or `nil` if it isn't stored. They are empty if the cache has
  /// them.
  package func payload(of tile: Tile) throws(BothyError) -> Data? { try self.tile(tile)?.payload }

  /// Stores a tile in place of its earlier version. Decodes the bytes, then writes all changes in one transaction.
  ///
  /// A feature that the tile no longer has is deleted, unless another tile has it. If tiles differ about a feature, the
  /// tile received last counts. Unchanged bytes cost only the rows of the tile. If `generation` isn't the current one,
  /// the tile is discarded.
  ///
  /// Other bytes that came before the stored ones are ignored. With `now`, in milliseconds since 1970, stored bytes that
  /// came later than that don't count, because the clock was wrong then.
  ///
  /// Throws `BothyError`: `notATile` for invalid bytes, and `unavailable` if the tile can't be written, for example on
  /// a full disk. The old version then stays.
  @discardableResult
  package func replace(
    _ tile: PlaceTile, generation: Int? = nil, now: Int64? = nil
  ) throws(BothyError) -> PlaceTileChange {
    let (categories, versions) = (self.categories, self.versions)
    let number = tile.tile.rowNumber
    func isHeld(_ held: PlaceTileRow.Summary?) -> Bool {
      held.map { $0.versions == versions && $0.has(tile.payload) } ?? false
    }
    let known = try read { isHeld(try PlaceTileRow.summary(number, $0)) }
    let content = known ? nil : try decoder.features(in: tile.payload, of: tile.tile, categories: categories)
    let change: PlaceTileChange = try write { database in
      if let generation, generation != self.generation { return .discarded }
      let held = try PlaceTileRow.summary(number, database)
      var tile = tile
      // A tile without features may be replaced by an older one.
      if let held, held.versions.parser != PlaceTileRow.underived, held.receivedAt > tile.receivedAt,
        now.map({ held.receivedAt <= $0 }) ?? true
      {
        guard held.has(tile.payload) else { return .outdated }
        tile.receivedAt = held.receivedAt
      }
      let writer = PlaceWriter(database)
      try PlaceTileRow.write(tile, versions, usedAt: now ?? tile.validatedAt, database)
      // The tile may have been replaced since the first check.
      if isHeld(held) {
        try writer.settle(number)
        return .unchanged
      }
      let features =
        try content ?? decoder.features(in: tile.payload, of: tile.tile, categories: categories)
      try writer.replace(number, features)
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

  /// Returns a tile with features, at any age and without its bytes, or `nil` if it isn't stored.
  func summary(of tile: Tile) throws(BothyError) -> PlaceTileRow.Summary? {
    let held = try read { try PlaceTileRow.summary(tile.rowNumber, $0) }
    return held?.versions.parser == PlaceTileRow.underived ? nil : held
  }

  /// Returns true if a tile is stored with features.
  func hasFeatures(_ tile: Tile) throws(BothyError) -> Bool {
    try read { database in
      let statement = try PreparedStatement("SELECT 1 FROM version WHERE tile = ? LIMIT 1", in: database)
      statement.bind(tile.rowNumber, at: 1)
      defer { statement.reset() }
      return try statement.step()
    }
  }

  /// Returns the tile with features that the server confirmed last, besides a tile and of its zoom, or `nil` if there is
  /// none. Reads a row of each tile.
  func lastConfirmed(besides tile: Tile) throws(BothyError) -> PlaceTile? {
    try read { database in
      let statement = try PreparedStatement(
        """
        SELECT morton FROM tile
        WHERE morton <> ?1 AND morton >= ?2 AND morton < 2 * ?2
          AND EXISTS (SELECT 1 FROM version WHERE version.tile = tile.morton)
        ORDER BY validated_at DESC, morton DESC LIMIT 1
        """, in: database)
      statement.bind(tile.rowNumber, at: 1)
      // The lowest number of the zoom.
      statement.bind(Int64(1) << Int64(2 * tile.zoom), at: 2)
      guard try statement.step() else { return nil }
      let number = statement.int(at: 0)
      statement.reset()
      return try PlaceTileRow.read(number, database)
    }
  }

  /// Returns those of the tiles that are stored, with the time of their last validation. Doesn't read bytes.
  ///
  /// That time is `PlaceTile.never` for a tile whose bytes are in the cache and have to be read there again. A tile
  /// without features yet, as after a repair of the file, is left out.
  package func held(_ tiles: some Sequence<Tile>) throws(BothyError) -> [Tile: Int64] {
    let (tiles, versions) = (Array(tiles), self.versions)
    return try read { database in
      var found: [Tile: Int64] = [:]
      let statement = try PreparedStatement(
        """
        SELECT CASE WHEN parser = ?2 AND categories = ?3 THEN validated_at ELSE ?4 END
        FROM tile WHERE morton = ?1 AND parser <> \(PlaceTileRow.underived)
        """, in: database)
      statement.bind(versions.parser, at: 2)
      statement.bind(versions.categories, at: 3)
      statement.bind(PlaceTile.never, at: 4)
      for tile in tiles {
        statement.bind(tile.rowNumber, at: 1)
        if try statement.step() { found[tile] = statement.int(at: 0) }
        statement.reset()
      }
      return found
    }
  }

  /// Returns those of the tiles whose bytes are in the cache and whose features aren't here yet.
  package func underived(_ tiles: some Sequence<Tile>) throws(BothyError) -> Set<Tile> {
    let tiles = Array(tiles)
    return try read { database in
      let statement = try PreparedStatement(
        """
        SELECT 1 FROM tile JOIN tile_use USING (morton)
        WHERE morton = ?1 AND is_cached = 1 AND parser = \(PlaceTileRow.underived)
        """, in: database)
      return Set(
        try tiles.filter { tile in
          statement.bind(tile.rowNumber, at: 1)
          defer { statement.reset() }
          return try statement.step()
        })
    }
  }

  /// Returns the numbers of tiles and of features.
  package func counts() throws(BothyError) -> (tiles: Int, features: Int) {
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
