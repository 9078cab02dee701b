internal import BothyStore
public import Foundation
internal import GRDB

/// The tiles that are stored, their last use, and their room on disk.
extension PlaceStore {
  /// Returns the stored tiles, those used longest ago first, with the number of their bytes as received.
  ///
  /// A `NearbyMap` notes a use when it needs a tile, at most once an hour. Reads two rows of each tile, without its
  /// bytes. Throws `BothyError`.
  ///
  /// ```swift
  /// for tile in try places.heldTiles() { print(tile.tile, tile.bytes, tile.lastUse) }
  /// ```
  ///
  /// - Parameter limit: the maximum number of tiles.
  public func heldTiles(
    limit: Int = .max
  ) throws(BothyError) -> [(tile: Tile, bytes: Int, validated: Date, lastUse: Date)] {
    try read { database in
      let statement = try PreparedStatement(
        """
        SELECT morton, bytes, validated_at, used_at FROM tile_use JOIN tile USING (morton)
        ORDER BY used_at, morton LIMIT ?
        """, in: database)
      statement.bind(Int64(limit), at: 1)
      var found: [(tile: Tile, bytes: Int, validated: Date, lastUse: Date)] = []
      while try statement.step() {
        let tile = try Tile(morton: UInt64(bitPattern: statement.int(at: 0)))
        found.append(
          (
            tile, Int(statement.int(at: 1)), Date(timeIntervalSince1970: Double(statement.int(at: 2)) / 1000),
            Date(timeIntervalSince1970: Double(statement.int(at: 3)) / 1000)
          ))
      }
      return found
    }
  }

  /// The interval within which further uses of a tile aren't noted, in milliseconds.
  private static let useInterval: Int64 = 3_600_000

  /// Notes that tiles were used at a time in milliseconds since 1970. Writes the rows that were last used more than an
  /// hour before or, after the clock was set back, later.
  package func use(_ tiles: some Sequence<Tile>, at time: Int64) throws(BothyError) {
    let numbers = tiles.map(\.rowNumber)
    let latest = time - Self.useInterval
    let isDue = try read { database in
      let statement = try PreparedStatement(
        "SELECT 1 FROM tile_use WHERE morton = ?1 AND (used_at < ?2 OR used_at > ?3)", in: database)
      statement.bind(latest, at: 2)
      statement.bind(time, at: 3)
      return try numbers.contains { number in
        statement.bind(number, at: 1)
        defer { statement.reset() }
        return try statement.step()
      }
    }
    // Most refreshes come within the hour, and take no lock for writing.
    guard isDue else { return }
    try write { database in
      let statement = try PreparedStatement(
        "UPDATE tile_use SET used_at = ?1 WHERE morton = ?2 AND (used_at < ?3 OR used_at > ?1)", in: database)
      statement.bind(time, at: 1)
      statement.bind(latest, at: 3)
      for number in numbers {
        statement.bind(number, at: 2)
        try statement.run()
      }
    }
  }

  /// The number of tiles that one eviction deletes.
  private static let evictionBatch = 16

  /// Deletes some of the tiles that were used longest ago, in one transaction, and returns them. Tiles that a map keeps
  /// stay. Uses later than the present `time` count as uses now, because the clock was wrong then.
  package func evict(at time: Int64) throws(BothyError) -> [Tile] {
    let kept = Set(kept.map(\.rowNumber))
    let gone: [Tile] = try write { database in
      let late = try PreparedStatement("UPDATE tile_use SET used_at = ?1 WHERE used_at > ?1", in: database)
      late.bind(time, at: 1)
      try late.run()
      let oldest = try Self.oldest(Self.evictionBatch, besides: kept, database)
      let writer = PlaceWriter(database)
      for number in oldest { try writer.remove(number) }
      return try oldest.map { try Tile(morton: UInt64(bitPattern: $0)) }
    }
    if !gone.isEmpty { noteChange() }
    return gone
  }

  private static func oldest(
    _ count: Int, besides kept: Set<Int64>, _ database: Database
  ) throws -> [Int64] {
    let statement = try PreparedStatement(
      "SELECT morton FROM tile_use ORDER BY used_at, morton", in: database)
    var found: [Int64] = []
    while try found.count < count && statement.step() {
      if !kept.contains(statement.int(at: 0)) { found.append(statement.int(at: 0)) }
    }
    statement.reset()
    return found
  }

  /// Returns the bytes of the file's pages in use, and those of the tiles that the cache has, as received. Scans the
  /// uses of the tiles.
  package func room() throws(BothyError) -> (pages: Int64, cached: Int64) {
    try read { database in
      let statement = try PreparedStatement(
        """
        SELECT (page_count - freelist_count) * page_size,
          (SELECT coalesce(sum(bytes), 0) FROM tile_use WHERE is_cached = 1)
        FROM pragma_page_count, pragma_freelist_count, pragma_page_size
        """, in: database)
      guard try statement.step() else { return (0, 0) }
      defer { statement.reset() }
      return (statement.int(at: 0), statement.int(at: 1))
    }
  }

  /// Gives back the pages of deleted tiles if more than half of the file are free. Rewrites the rest of the file.
  package func shrink() throws(BothyError) {
    let isSparse = try read { database in
      try Bool.fetchOne(
        database,
        sql: "SELECT freelist_count * 2 > page_count FROM pragma_page_count, pragma_freelist_count")
    }
    if isSparse ?? false { vacuum() }
  }
}
