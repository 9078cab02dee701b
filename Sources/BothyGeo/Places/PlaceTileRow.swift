import BothyStore
import GRDB

/// Reads and writes the row of a tile.
enum PlaceTileRow {
  static func read(_ morton: Int64, _ database: Database) throws -> PlaceTile? {
    let statement = try PreparedStatement(
      "SELECT received_at, validated_at, etag, last_modified, payload FROM tile WHERE morton = ?",
      in: database)
    statement.bind(morton, at: 1)
    guard try statement.step() else { return nil }
    defer { statement.reset() }
    return PlaceTile(
      try Tile(morton: UInt64(bitPattern: morton)), payload: statement.data(at: 4),
      receivedAt: statement.int(at: 0), validatedAt: statement.int(at: 1), entityTag: statement.text(at: 2),
      lastModified: statement.text(at: 3))
  }

  static func write(_ tile: PlaceTile, categories: Int64, _ database: Database) throws {
    let statement = try PreparedStatement(
      """
      INSERT INTO tile (morton, received_at, validated_at, etag, last_modified, parser, categories, payload)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (morton) DO UPDATE SET received_at = excluded.received_at, validated_at = excluded.validated_at,
        etag = excluded.etag, last_modified = excluded.last_modified, parser = excluded.parser,
        categories = excluded.categories, payload = excluded.payload
      """, in: database)
    statement.bind(tile.tile.rowNumber, at: 1)
    statement.bind(tile.receivedAt, at: 2)
    statement.bind(tile.validatedAt, at: 3)
    statement.bind(tile.entityTag, at: 4)
    statement.bind(tile.lastModified, at: 5)
    statement.bind(PlaceStore.parserVersion, at: 6)
    statement.bind(categories, at: 7)
    statement.bind(tile.payload, at: 8)
    try statement.run()
  }
}

extension Tile {
  /// The Morton number, which has 59 bits at most.
  var rowNumber: Int64 { Int64(bitPattern: morton) }
}
