import BothyCache
import BothyStore
import Foundation
import GRDB

/// Reads and writes the rows of a tile.
enum PlaceTileRow {
  /// The payload of a tile whose bytes the cache has. Versions that don't know it can't read it as a tile, and request
  /// the tile again.
  static let elsewhere = Data("x".utf8)

  /// The version of the parser of a tile whose features were not derived yet, as after a repair of the file.
  static let underived: Int64 = 0

  /// The versions of the parser and of the categories that the features of a tile were derived with.
  struct Versions: Equatable {
    var parser: Int64
    var categories: Int64
  }

  /// A tile without its bytes.
  struct Summary {
    var receivedAt: Int64
    var versions: Versions
    var entityTag: String?
    var lastModified: String?
    fileprivate var bytes: Int64
    fileprivate var checksum: Int64?

    /// The digest of the bytes, or `nil` if it isn't known.
    var digest: StoredDigest? {
      checksum.map { StoredDigest(size: bytes, checksum: UInt64(bitPattern: $0)) }
    }

    /// True if the tile has these bytes.
    func has(_ payload: Data) -> Bool {
      bytes == Int64(payload.count) && checksum == PlaceTileRow.checksum(payload)
    }
  }

  /// Returns the digest of bytes as the rows have it, which differs from that of the cache.
  static func digest(_ payload: Data) -> StoredDigest {
    StoredDigest(size: Int64(payload.count), checksum: UInt64(bitPattern: checksum(payload)))
  }

  static func checksum(_ payload: Data) -> Int64 {
    Int64(bitPattern: payload.withUnsafeBytes { XXH64.hash($0) })
  }

  static func read(_ morton: Int64, _ database: Database) throws -> PlaceTile? {
    let statement = try PreparedStatement(
      """
      SELECT received_at, validated_at, etag, last_modified, payload, is_cached
      FROM tile JOIN tile_use USING (morton) WHERE morton = ?
      """, in: database)
    statement.bind(morton, at: 1)
    guard try statement.step() else { return nil }
    defer { statement.reset() }
    let isCached = statement.int(at: 5) == 1
    var tile = PlaceTile(
      try Tile(morton: UInt64(bitPattern: morton)), payload: isCached ? Data() : statement.data(at: 4),
      receivedAt: statement.int(at: 0), validatedAt: statement.int(at: 1), entityTag: statement.text(at: 2),
      lastModified: statement.text(at: 3))
    tile.isCached = isCached
    return tile
  }

  static func summary(_ morton: Int64, _ database: Database) throws -> Summary? {
    let statement = try PreparedStatement(
      """
      SELECT received_at, parser, categories, bytes, checksum,
        CASE WHEN checksum IS NULL AND is_cached = 0 THEN payload END, etag, last_modified
      FROM tile JOIN tile_use USING (morton) WHERE morton = ?
      """, in: database)
    statement.bind(morton, at: 1)
    guard try statement.step() else { return nil }
    defer { statement.reset() }
    let counted = statement.isNull(at: 5) ? nil : checksum(statement.data(at: 5))
    return Summary(
      receivedAt: statement.int(at: 0),
      versions: Versions(parser: statement.int(at: 1), categories: statement.int(at: 2)),
      entityTag: statement.text(at: 6), lastModified: statement.text(at: 7),
      bytes: statement.int(at: 3), checksum: statement.isNull(at: 4) ? counted : statement.int(at: 4))
  }

  /// Writes the rows, with the bytes unless the cache has them.
  static func write(
    _ tile: PlaceTile, _ versions: Versions, usedAt: Int64, _ database: Database
  ) throws {
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
    statement.bind(versions.parser, at: 6)
    statement.bind(versions.categories, at: 7)
    statement.bind(tile.isCached ? elsewhere : tile.payload, at: 8)
    try statement.run()
    let use = try PreparedStatement(
      """
      INSERT INTO tile_use (morton, bytes, checksum, used_at, is_cached) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (morton) DO UPDATE SET bytes = excluded.bytes, checksum = excluded.checksum,
        used_at = max(used_at, excluded.used_at), is_cached = excluded.is_cached
      """, in: database)
    use.bind(tile.tile.rowNumber, at: 1)
    use.bind(Int64(tile.payload.count), at: 2)
    use.bind(checksum(tile.payload), at: 3)
    use.bind(usedAt, at: 4)
    use.bind(tile.isCached ? 1 : 0, at: 5)
    try use.run()
  }

  /// Notes the versions that the features of a stored tile were derived with.
  static func note(_ versions: Versions, of morton: Int64, _ database: Database) throws {
    let statement = try PreparedStatement(
      "UPDATE tile SET parser = ?, categories = ? WHERE morton = ?", in: database)
    statement.bind(versions.parser, at: 1)
    statement.bind(versions.categories, at: 2)
    statement.bind(morton, at: 3)
    try statement.run()
  }
}

extension Tile {
  /// The Morton number, which has 59 bits at most.
  var rowNumber: Int64 { Int64(bitPattern: morton) }
}
